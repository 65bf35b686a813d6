import { setTimeout as delay } from 'node:timers/promises';
import type { EventStream } from './event-stream.ts';
import type { JsonObject } from './json-rpc.ts';
import type { UpstreamSession } from './session.ts';

/** A running call, as its tool sees it. */
export interface ScriptedCall {
  readonly arguments: JsonObject;
  readonly progressToken: unknown;
  readonly session: UpstreamSession;
  /** Aborted by `notifications/cancelled` for this call. */
  readonly cancelled: AbortSignal;
  /** The call's own stream. Using it turns the answer into an event stream. */
  stream(): EventStream;
  /** Sends a notification on the call's own stream. */
  notify(method: string, params: unknown): void;
  /** Resolves when the test releases this key; at once if it has done so before. */
  released(key: string): Promise<void>;
}

/**
 * How a tool answers: with a result; with `{ resultText }`, the exact JSON of a result; with `{ bodyText }`, the exact
 * JSON of the whole response, in which `$ID` stands for the id; or with undefined, never: its stream just ends.
 */
export type ScriptedAnswer = JsonObject | { resultText: string } | { bodyText: string } | undefined;

export interface ScriptedTool {
  /** What `tools/list` shows, besides the name. */
  definition: JsonObject;
  call(call: ScriptedCall): ScriptedAnswer | Promise<ScriptedAnswer>;
}

const textResult = (text: string): JsonObject => ({ content: [{ type: 'text', text }] });

const anyArguments = { type: 'object', properties: {} };
const tool = (description: string, call: ScriptedTool['call']): ScriptedTool => ({
  definition: { description, inputSchema: anyArguments },
  call,
});

/** The call's own stream, or with `"on": "get"` the session's, where many servers ask. */
const streamFor = (call: ScriptedCall): EventStream =>
  call.arguments.on === 'get' ? call.session.getStream : call.stream();

/** The tools that the upstream starts with. */
export const standardTools = (): Map<string, ScriptedTool> =>
  new Map([
    ['echo', tool('Returns its arguments', (call) => textResult(JSON.stringify(call.arguments)))],
    [
      'slow',
      tool('Waits `ms`, or else until the test releases `key` (default "slow")', async (call) => {
        const { ms, key } = call.arguments;
        if (typeof ms === 'number') await delay(ms);
        else await call.released(typeof key === 'string' ? key : 'slow');
        return textResult('done');
      }),
    ],
    ['big', tool('Returns a text of `bytes` bytes', (call) => textResult('x'.repeat(Number(call.arguments.bytes))))],
    [
      'bytes',
      tool('Answers with exactly the JSON text of `result`, or of the whole `body`', (call) => {
        const { result, body } = call.arguments;
        return typeof body === 'string' ? { bodyText: body } : { resultText: String(result) };
      }),
    ],
    [
      'elicit',
      tool('Asks the user, and returns the answer', async (call) => {
        const requestedSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
        const params = { message: 'Your name?', requestedSchema };
        return textResult(JSON.stringify(await call.session.ask(streamFor(call), 'elicitation/create', params)));
      }),
    ],
    [
      'sample',
      tool('Asks the model, and returns the answer', async (call) => {
        const messages = [{ role: 'user', content: { type: 'text', text: 'Hello' } }];
        const params = { messages, maxTokens: 10 };
        return textResult(JSON.stringify(await call.session.ask(streamFor(call), 'sampling/createMessage', params)));
      }),
    ],
    [
      'notify',
      tool('Sends a notification on the stream of GET', (call) => {
        const { method = 'notifications/message', params = { level: 'info', data: 'notified' } } = call.arguments;
        const { getStream } = call.session;
        getStream.send(JSON.stringify({ jsonrpc: '2.0', method, params }));
        return textResult(getStream.attached ? 'sent' : 'no stream');
      }),
    ],
    [
      'progress',
      tool(
        'Reports 1, 2 and 3 of 3; with `hold` waits after the first until the test releases that key',
        async (call) => {
          for (const progress of [1, 2, 3]) {
            call.notify('notifications/progress', { progressToken: call.progressToken, progress, total: 3 });
            if (progress === 1 && typeof call.arguments.hold === 'string') await call.released(call.arguments.hold);
          }
          return textResult('done');
        },
      ),
    ],
    [
      'cancel_aware',
      tool(
        'Waits until it is cancelled, and then never answers; or until the test releases "cancel_aware"',
        async (call) => {
          call.stream();
          const cancelled = new Promise<undefined>((resolve) => {
            call.cancelled.addEventListener('abort', () => resolve(undefined), { once: true });
          });
          return await Promise.race([cancelled, call.released('cancel_aware').then(() => textResult('not cancelled'))]);
        },
      ),
    ],
  ]);
