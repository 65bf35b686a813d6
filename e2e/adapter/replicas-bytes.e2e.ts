import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream/scripted-upstream.ts';
import { type Deployment, mounted, startDeployment } from './kit/deployment.ts';
import { EventReader, isResponse } from './kit/events.ts';
import { drain, initialize, openSession, type Session, textOf } from './kit/session.ts';

/** What a parser and a serializer would change: spaces, key order, escapes, numbers beyond doubles, unknown members. */
const ODD_MESSAGES = [
  '{ "jsonrpc" : "2.0",\n\t"id":9007199254740993 ,"method":"ping" }',
  '{"params":{"arguments":{"n":9007199254740993,"z":-0,"f":1.0,"e":1E5},"name":"echo"},"method":"tools/call","id":1,"jsonrpc":"2.0"}\r\n',
  String.raw`{"jsonrpc":"2.0","id":"\u0069d\/1","method":"tools\/call","params":{"name":"echo","arguments":{"\u00e9":"\ud83d\ude00 é😀 \ud800"}}}`,
  '{"jsonrpc":"2.0","id":-9223372036854775808,"method":"ping","x-unknown":{"b":[ ],"a":null},"_meta":{ }}',
  '{"jsonrpc":"2.0","method":"notifications/unheard-of","params":{"n":[1.10,9007199254740993]}}',
  '{"jsonrpc":"2.0", "id":"nobody asked", "result":{"n":9007199254740993} , "extra":1}',
];

const ODD_RESULT = String.raw`{ "result" : {"content":[ ],"big":9007199254740993,"\u0061":1.0,"é":"\ud83d\ude00"} ,"id": $ID , "x":null,"jsonrpc":"2.0" }`;

const ODD_STREAM = [
  ': a comment\n\n',
  'retry: 100\nid: 1\ndata:\n\n',
  'event: message\r\nid: 2\r\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}\r\n\r\n',
  'x-field: kept\ndata: {"jsonrpc":"2.0",\ndata: "method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":1}}\n\n',
  'data:{"jsonrpc":"2.0","id":"odd","result":{"content":[],"tools":[],"big":9007199254740993 }}\nid: é/3\n\n',
  ': the end, without a blank line',
].join('');
/** What leaves of it: the messages as they came, in events that are written anew. */
const LEAVING_STREAM = [
  'id: 1\nretry: 1000\ndata:\n\n',
  'event: message\nid: 2\ndata: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.0}}\n\n',
  'data: {"jsonrpc":"2.0",\ndata: "method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":1}}\n\n',
  'id: é/3\ndata: {"jsonrpc":"2.0","id":"odd","result":{"content":[],"tools":[],"big":9007199254740993 }}\n\n',
].join('');

describe('messages through either replica', { timeout: 30_000 }, () => {
  let upstream: ScriptedUpstream;
  let deployment: Deployment;
  let session: Session;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    // Without uploads the adapter adds nothing to lists and handshakes.
    const config = { uploads: { enabled: false }, servers: [mounted('up', upstream.url)] };
    deployment = await startDeployment({ config });
  });
  beforeEach(async () => {
    session = await openSession(deployment.a);
  });
  afterEach(() => {
    upstream.behavior.answers = 'json';
    upstream.behavior.intercept = () => undefined;
  });
  afterAll(async () => {
    await deployment?.close();
    await upstream?.close();
  });
  const places = () => [deployment.a, deployment.b];

  /** The upstream answers every request that mentions `mark` with exactly these bytes. */
  function answerWith(mark: string, contentType: string, body: string): void {
    upstream.behavior.intercept = ({ text }) =>
      text.includes(mark) ? { status: 200, headers: { 'content-type': contentType }, body } : undefined;
  }

  test('reach the server byte for byte', async () => {
    for (const place of places()) {
      for (const body of ODD_MESSAGES) {
        const status = await drain(session.at(place).send(body));
        expect([body, status]).toEqual([
          body,
          body.includes('"method":"notifications') || body.includes('nobody') ? 202 : 200,
        ]);
        expect(upstream.requests.at(-1)?.text).toBe(body);
      }
    }
  });

  test('reach the client byte for byte, as JSON', async () => {
    for (const place of places()) {
      for (const id of ['9007199254740993', '"\\u0069d"', '-1']) {
        const params = JSON.stringify({ name: 'bytes', arguments: { body: ODD_RESULT } });
        const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`;
        const response = await session.at(place).send(body);
        expect(await response.text()).toBe(ODD_RESULT.replace('$ID', id));
        expect(response.headers.get('content-type')).toBe('application/json');
      }
    }
  });

  test.for(['tools/call', 'tools/list'])(
    'H3: reach the client byte for byte, in events written anew (%s)',
    async (method) => {
      for (const place of places()) {
        answerWith(method, 'text/event-stream; charset=utf-8', ODD_STREAM);
        const params = method === 'tools/call' ? { name: 'echo' } : {};
        const response = await session.at(place).send({ jsonrpc: '2.0', id: 'odd', method, params });
        expect(await response.text()).toBe(LEAVING_STREAM);
        expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
      }
    },
  );

  test('reach both sides byte for byte also when a session is opened', async () => {
    const params =
      '{ "protocolVersion":"2025-11-25","clientInfo":{"version":"1.0","name":"\\u00e9"},"capabilities":{ },"n":1.0 }';
    const answer =
      '{"id":"init", "result":{"capabilities":{"x":9007199254740993},"protocolVersion":"2025-11-25","serverInfo":{ }},"jsonrpc":"2.0" }';
    for (const place of places()) {
      answerWith('"initialize"', 'application/json', answer);
      const response = await initialize(place, { initializeParams: params });
      expect(await response.text()).toBe(answer);
      expect(upstream.requests.at(-1)?.text).toBe(
        `{"jsonrpc":"2.0","id":"init","method":"initialize","params":${params}}`,
      );
    }
  });

  test('lists from the cache keep the bytes of their result; only the id is the request’s own', async () => {
    const result =
      '{"tools":[ {"name":"one","inputSchema":{"type":"object","maximum":9007199254740993},"x":1.0}] , "_meta":{}}';
    answerWith('tools/list', 'application/json', `{"jsonrpc":"2.0","id":1,"result":${result}}`);
    for (const place of places()) {
      expect(await (await session.at(place).send('{"jsonrpc":"2.0","id":1,"method":"tools/list"}')).text()).toContain(
        result,
      );
      const again = await session.at(place).send('{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}');
      expect(await again.text()).toBe(`{"jsonrpc":"2.0","id":9007199254740993,"result":${result}}`);
    }
    expect(upstream.requestsOf('tools/list').filter(({ text }) => text.includes('9007199254740993'))).toEqual([]);
  });

  test.for(['json', 'sse'] as const)('of 5 MB pass whole in both directions (%s)', async (answers) => {
    upstream.behavior.answers = answers;
    const text = `${'☕é😀'.repeat(550_000)}.`;
    for (const place of places()) {
      const sent = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'echo', arguments: { text } },
      });
      expect(Buffer.byteLength(sent)).toBeGreaterThan(4.9e6);
      const response = await session.at(place).send(sent);
      const message = answers === 'json' ? await response.json() : await new EventReader(response).message(isResponse);
      expect(upstream.requests.at(-1)?.text === sent).toBe(true);
      expect(textOf(message as Record<string, unknown>) === JSON.stringify({ text })).toBe(true);
    }
  });

  test('a large list of many characters arrives whole, from the server and from the cache', async () => {
    upstream.behavior.answers = 'sse';
    const text = '☕é😀'.repeat(100_000);
    // Not as the description, which is cut.
    const definition = { inputSchema: { type: 'object' }, _meta: { text } };
    upstream.tools.set('large', { definition, call: () => ({}) });
    for (const place of [...places(), ...places()]) {
      const list = JSON.stringify(await session.at(place).call('tools/list'));
      expect(list.includes(text)).toBe(true);
    }
    upstream.tools.delete('large');
  });

  describe('as a batch', () => {
    const batch =
      '[ {"jsonrpc":"2.0","id":1,"method":"ping"},\n{"jsonrpc":"2.0","method":"notifications/x"}, {"id":"b","jsonrpc":"2.0","method":"ping"} ]';

    test('of revision 2025-03-26: an array goes in and an array comes out', async () => {
      session = await openSession(deployment.a, { protocolVersion: '2025-03-26' });
      for (const place of places()) {
        const response = await session.at(place).send(batch);
        expect(upstream.requests.at(-1)?.text).toBe(batch);
        expect(await response.text()).toBe(
          '[{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":"b","result":{}}]',
        );
      }
      upstream.behavior.answers = 'sse';
      const streamed = new EventReader(await session.at(deployment.b).send(batch));
      expect((await streamed.rest()).map(({ id }) => id)).toEqual([1, 'b']);
    });

    test('without requests is accepted with 202', async () => {
      session = await openSession(deployment.a, { protocolVersion: '2025-03-26' });
      const answer = await session
        .at(deployment.b)
        .send('[{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":1,"result":{}}]');
      expect([answer.status, await answer.text()]).toEqual([202, '']);
    });

    test.for(['2025-06-18', '2025-11-25'])(
      'of revision %s is refused with 400 and never sent',
      async (protocolVersion) => {
        session = await openSession(deployment.a, { protocolVersion });
        for (const place of places()) {
          const count = upstream.requests.length;
          const response = await session.at(place).send(batch);
          expect(response.status).toBe(400);
          expect(await response.json()).toMatchObject([
            { id: 1, error: { code: -32600 } },
            { id: 'b', error: { code: -32600 } },
          ]);
          expect(upstream.requests.length).toBe(count);
        }
      },
    );
  });

  test('that are no messages are refused with 400 before anything is sent', async () => {
    const count = upstream.requests.length;
    const refused = {
      'no JSON': -32700,
      '[]': -32600,
      '"text"': -32600,
      '{"jsonrpc":"1.0","id":1,"method":"ping"}': -32600,
      '{"jsonrpc":"2.0","id":null,"method":"ping"}': -32600,
      '{"jsonrpc":"2.0","id":1.5,"method":"ping"}': -32600,
      '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}': -32600,
    };
    for (const [body, code] of Object.entries(refused)) {
      const response = await session.at(deployment.b).send(body);
      expect([body, response.status]).toEqual([body, 400]);
      expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code } });
    }
    expect(upstream.requests.length).toBe(count);
  });
});
