import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Answers, RealClient, WireMessage } from '../../support/real-client.ts';
import { callTool, type Pair } from './pair.ts';
import { SESSION, steady } from './volatile.ts';

const LONG_OPERATION = 'trigger-long-running-operation';

/** What happens between request and response, and without a request. Every test has clients of its own. */
export function everythingConversations(openPair: () => Promise<Pair>): void {
  test('a long operation reports the same progress, all of it before its result', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.bothAtOnce(async (client) => {
      const seen: number[] = [];
      const onProgress = ({ progress }: { progress: number }): number => seen.push(progress);
      const outcome = await callTool(client, LONG_OPERATION, { duration: 0.5, steps: 5 }, { onProgress });
      // The application may not hear of the last step: the SDKs forget the call as soon as they see its response.
      expect(seen.slice(0, 4)).toEqual([1, 2, 3, 4]);
      return { outcome, ...progressOfLastCall(client) };
    });
    expect(through).toEqual(direct);
    expect(through).toMatchObject({
      reports: [1, 2, 3, 4, 5].map((progress) => ({ progress, total: 5 })),
      afterTheResponse: 0,
    });
  });

  test('operations at the same time each get their own progress and result', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.bothAtOnce((client) =>
      Promise.all(
        [3, 4, 5].map(async (steps) => {
          const totals = new Set<number | undefined>();
          const onProgress = ({ total }: { total?: number }): unknown => totals.add(total);
          const outcome = await callTool(client, LONG_OPERATION, { duration: 0.6, steps }, { onProgress });
          return { outcome, totals: [...totals] };
        }),
      ),
    );
    expect(through).toEqual(direct);
    expect(through.map(({ totals }) => totals)).toEqual([[3], [4], [5]]);
  });

  test('a cancelled operation is never answered, and the session goes on', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.bothAtOnce(async (client) => {
      const cancel = new AbortController();
      const options = { signal: cancel.signal, onProgress: () => cancel.abort() };
      await expect(client.callTool(LONG_OPERATION, { duration: 1, steps: 10 }, options)).rejects.toThrow('aborted');
      const { id } = lastCall(client);
      // The server goes on with its work and tells so; only the response is dropped, and it would be here by now.
      await client.waitForMessage(({ params }) => params?.progress === 10);
      await callTool(client, LONG_OPERATION, { duration: 0.5, steps: 1 });
      return {
        asked: client.sent.filter(({ method }) => method === 'notifications/cancelled').map(({ params }) => params),
        results: client.received.filter((message) => message.id === id && message.result !== undefined),
        cancelledItself: id,
      };
    });
    expect(through).toEqual(direct);
    expect(through).toMatchObject({ results: [], asked: [{ requestId: through.cancelledItself }] });
  });

  test('the log level is obeyed, and log messages arrive', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.both(async (client) => {
      await client.request('logging/setLevel', { level: 'error' });
      await client.request('resources/subscribe', { uri: 'demo://resource/dynamic/text/1' });
      await client.request('logging/setLevel', { level: 'debug' });
      await client.request('resources/subscribe', { uri: 'demo://resource/dynamic/text/2' });
      await client.waitForMessage(({ params }) => String(params?.data).includes('dynamic/text/2'));
      const logged = notifications(client, 'notifications/message');
      return logged.filter(({ data }) => String(data).startsWith('Received Subscribe'));
    });
    // The text names the server's session.
    expect(steady(through, SESSION)).toEqual(steady(direct, SESSION));
    expect(through).toMatchObject([{ level: 'info', data: expect.stringContaining('dynamic/text/2 from session') }]);
  });

  test('log messages that nobody asked for arrive (of a random level, so only their shape is compared)', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.both(async (client) => {
      await client.request('logging/setLevel', { level: 'debug' });
      await callTool(client, 'toggle-simulated-logging');
      const message = await client.waitForMessage(({ params }) =>
        /level.message - SessionId/.test(String(params?.data)),
      );
      await callTool(client, 'toggle-simulated-logging');
      return { ...message, params: Object.keys(message.params ?? {}) };
    });
    expect(through).toEqual(direct);
  });

  test('sampling asks the client, and its answer is in the result', async () => {
    await using pair = await openPair();
    pair.answers.sampling = 'Blaue Pferde 🐴';
    const { direct, through } = await pair.both(async (client) => ({
      outcome: await callTool(client, 'trigger-sampling-request', { prompt: 'Name a painting', maxTokens: 7 }),
      asked: notifications(client, 'sampling/createMessage'),
    }));
    expect(through).toEqual(direct);
    expect(through.asked).toMatchObject([{ maxTokens: 7, systemPrompt: 'You are a helpful test server.' }]);
    expect(JSON.stringify(through.outcome)).toContain('Blaue Pferde 🐴');
  });

  test.for<{ answer: Answers['elicitation']; shows: string }>([
    { answer: { action: 'accept', content: { name: 'Grace Hopper', integer: 7 } }, shows: 'Favorite Integer: 7' },
    { answer: { action: 'decline' }, shows: 'User declined' },
    { answer: { action: 'cancel' }, shows: 'User cancelled' },
  ])('a form is shown to the user, whose answer is in the result: $answer.action', async ({ answer, shows }) => {
    await using pair = await openPair();
    pair.answers.elicitation = answer;
    const { direct, through } = await pair.both(async (client) => ({
      outcome: await callTool(client, 'trigger-elicitation-request'),
      asked: notifications(client, 'elicitation/create'),
    }));
    expect(through).toEqual(direct);
    expect(through.asked).toMatchObject([{ requestedSchema: { required: ['name'] } }]);
    expect(JSON.stringify(through.outcome)).toContain(shows);
  });

  test('the roots of the client reach the server, also when they change', async () => {
    await using pair = await openPair();
    const { roots } = pair.answers;
    const { direct, through } = await pair.both(async (client) => {
      pair.answers.roots = roots;
      const before = await callTool(client, 'get-roots-list');
      pair.answers.roots = [...roots, { uri: 'file:///home/ada/engine', name: 'Engine' }];
      await client.notifyRootsChanged();
      await client.waitForMessage(({ params }) => String(params?.data).startsWith('Roots updated: 2 root(s)'));
      return { before, after: await callTool(client, 'get-roots-list') };
    });
    expect(through).toEqual(direct);
    expect(JSON.stringify(through.before)).toContain('Current MCP Roots (1 total)');
    expect(JSON.stringify(through.after)).toContain('file:///home/ada/engine');
  });

  test('updates of subscribed resources arrive, and no others', async () => {
    await using pair = await openPair();
    const uris = [101, 102].map((id) => `demo://resource/dynamic/text/${id}`);
    const { direct, through } = await pair.both(async (client) => {
      for (const uri of uris) await client.request('resources/subscribe', { uri });
      await client.request('resources/unsubscribe', { uri: uris[0] });
      await callTool(client, 'toggle-subscriber-updates');
      // The server tells of the first one, if at all, before the second one.
      await client.waitForMessage(({ method, params }) => method === UPDATED && params?.uri === uris[1]);
      await callTool(client, 'toggle-subscriber-updates');
      return notifications(client, UPDATED);
    });
    expect(through).toEqual(direct);
    expect(through).toEqual([{ uri: uris[1] }]);
  });

  test('a new resource is announced, listed and read', async () => {
    await using pair = await openPair();
    const { direct, through } = await pair.both(async (client) => {
      const before = await client.request('resources/list');
      const seen = client.received.length;
      await callTool(client, 'gzip-file-as-resource', { name: 'new.gz', data: 'data:text/plain,new' });
      await client.waitForMessage((message) => client.received.indexOf(message) >= seen && message.method === CHANGED);
      const after = await client.request('resources/list');
      const read = await client.request('resources/read', { uri: 'demo://resource/session/new.gz' });
      return { before, after, read };
    });
    expect(through).toEqual(direct);
    expect(JSON.stringify(through.before)).not.toContain('new.gz');
    expect(JSON.stringify(through.after)).toContain('new.gz');
    const [{ blob }] = through.read.contents as [{ blob: string }];
    expect(gunzipSync(Buffer.from(blob, 'base64')).toString()).toBe('new');
  });
}

const UPDATED = 'notifications/resources/updated';
const CHANGED = 'notifications/resources/list_changed';

/** The parameters of all messages of a method that have come so far. */
const notifications = (client: RealClient, method: string): Record<string, unknown>[] =>
  client.received.filter((message) => message.method === method).map(({ params = {} }) => params);

function lastCall(client: RealClient): WireMessage {
  const call = client.sent.findLast(({ method }) => method === 'tools/call');
  if (call === undefined) throw new Error('no tool has been called');
  return call;
}

/** Which progress the last call has seen on the wire, without the token, and how much of it came too late. */
function progressOfLastCall(client: RealClient): { reports: unknown[]; afterTheResponse: number } {
  const { id, params } = lastCall(client);
  const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
  const isReport = ({ method, params: reported }: WireMessage): boolean =>
    method === 'notifications/progress' && reported?.progressToken === token;
  const response = client.received.findIndex((message) => message.id === id && message.method === undefined);
  return {
    reports: client.received.filter(isReport).map(({ params = {} }) => without(params, 'progressToken')),
    afterTheResponse: client.received.slice(response).filter(isReport).length,
  };
}

const without = (object: Record<string, unknown>, key: string): Record<string, unknown> =>
  Object.fromEntries(Object.entries(object).filter(([name]) => name !== key));
