import { EventReader, isMethod, isResponse } from '../../adapter/kit/events.ts';
import type { RawClient } from '../../support/raw-client.ts';
import type { RealClient } from '../../support/real-client.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';

/** What came of a call of `wait`. */
export interface LongResult {
  /** Every progress that the client was told of: 1, 2, … seconds. */
  readonly progress: readonly unknown[];
  readonly text: unknown;
}

/** Resolves with the promise of the result once the call has been heard of. */
export type LongCall = Promise<{ readonly ended: Promise<LongResult> }>;

/** Progress comes every second, but not on a machine that is busy with other things. */
const SILENCE_MS = 20_000;

/** One exchange on one connection: nothing resumes it when that breaks. */
export async function rawLongCall(session: RawClient, seconds: number): LongCall {
  const params = { name: 'wait', arguments: { seconds }, _meta: { progressToken: 'wait' } };
  const events = new EventReader(await session.request('tools/call', params));
  const first = await events.message(isMethod('notifications/progress'), SILENCE_MS);
  const progress = [progressOf(first)];
  async function rest(): Promise<LongResult> {
    for (;;) {
      const message = await events.message(undefined, SILENCE_MS);
      if (isResponse(message)) return { progress, text: textOf(asObject(message.result)) };
      progress.push(progressOf(message));
    }
  }
  return { ended: rest() };
}

/** As an application calls it. */
export async function realLongCall(client: RealClient, seconds: number): LongCall {
  const begun = Promise.withResolvers<void>();
  const progress: unknown[] = [];
  const onProgress = (event: { progress: number }): void => {
    progress.push(event.progress);
    begun.resolve();
  };
  const ended = client
    .callTool('wait', { seconds }, { onProgress })
    .then((result) => ({ progress, text: textOf(result) }));
  ended.catch(begun.reject);
  await begun.promise;
  return { ended };
}

const progressOf = (message: JsonObject): unknown => asObject(message.params).progress;

function textOf(result: JsonObject): unknown {
  return Array.isArray(result.content) ? asObject(result.content[0]).text : undefined;
}
