import { HttpReply } from '../../callers/http-reply.ts';
import { AdapterError, knownError } from '../../errors.ts';
import { KeepAlive } from '../../exchange/answers/keep-alive.ts';
import { type Body, parseBody } from '../../exchange/message.ts';
import { RunningExchanges } from '../../exchange/running.ts';
import { startReplyServer } from '../../exchange/testing/reply-server.ts';
import { ClientUpstream } from '../../mount/client-upstream.ts';
import type { Mount } from '../../mount/mount.ts';
import type { Caller } from '../../path/caller.ts';
import type { Ending } from '../../path/ending.ts';
import { Operation, type OperationStart } from '../../path/operation.ts';
import type { Reply, ReplyControl } from '../../path/reply.ts';
import type { ReplyMessage } from '../../path/reply-message.ts';
import { compose, type Send, type Step } from '../../path/step.ts';
import { SessionFiles } from '../../sessions/session-files.ts';
import { UpstreamSessions } from '../../sessions/upstream-sessions.ts';
import { MemoryBus } from '../../state/memory/memory-bus.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { StateStore } from '../../state/state-store.ts';
import { noTelemetry } from '../../telemetry/telemetry.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import type { ResponseHead } from '../../exchange/upstream.ts';

/** A body of a message, of several, or of this text. */
export function bodyOf(message: object | string): Body {
  const isOne = typeof message === 'object' && !Array.isArray(message);
  const text = typeof message === 'string' ? message : JSON.stringify(isOne ? { jsonrpc: '2.0', ...message } : message);
  const parsed = parseBody(Buffer.from(text));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}

export function sampleCaller(changes: Partial<Caller> = {}): Caller {
  return {
    headers: {},
    request: { protocol: 'http', host: 'localhost' },
    principal: '',
    holder: sampleAccount().of({ server: 's1' }),
    attributes: { requestId: 'r' },
    ...changes,
  };
}

/** What a client has sent, or its wish for a stream where it has sent nothing. */
export function sampleOperation(
  message: object | string | undefined,
  changes: Partial<Omit<OperationStart, 'body' | 'method' | 'caller'>> & { readonly caller?: Partial<Caller> } = {},
): Operation {
  return new Operation({
    serverId: 's1',
    timeoutMs: null,
    trace: undefined,
    ...changes,
    ...(message === undefined ? { method: 'GET' } : { method: 'POST', body: bodyOf(message) }),
    caller: sampleCaller(changes.caller),
  });
}

/** What the adapter asks an upstream by itself. */
export function sampleClient(mount: Mount, store: StateStore = new MemoryStore()): ClientUpstream {
  const onError = (error: unknown): void => {
    throw error;
  };
  const bytes = { discard: async () => undefined, discardSession: async () => undefined };
  return new ClientUpstream(mount, {
    store,
    bus: new MemoryBus({ onListenerError: onError, account: sampleAccount() }),
    upstreamSessions: new UpstreamSessions(store),
    sessionFiles: new SessionFiles(store, bytes, onError),
    telemetry: noTelemetry,
    tombstoneTtlMs: 60_000,
    onError,
  });
}

/** Keeps what it is told. */
export class RecordingReply implements Reply {
  readonly reads = false;
  /** In the order in which it came: `start`, `head 200`, the text of each message, `end ok`. */
  readonly told: string[] = [];
  /** Sees each of these as it comes. */
  onTold: (what: string) => void = () => {};
  control: ReplyControl | undefined;
  readonly #ended = Promise.withResolvers<Ending>();
  readonly #aborter = new AbortController();
  readonly #afterwards: (() => void)[] = [];

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  get isGone(): boolean {
    return this.signal.aborted;
  }

  /** Resolves with the first one. */
  get ended(): Promise<Ending> {
    return this.#ended.promise;
  }

  /** Nobody waits any more. */
  leave(code: 'cancelled' | 'session_ended' = 'cancelled'): void {
    this.#aborter.abort(new AdapterError(code));
    this.control?.abort(this.#gone);
  }

  /** The answer has left. */
  close(): void {
    for (const run of this.#afterwards.splice(0)) run();
  }

  afterwards(run: () => void): void {
    this.#afterwards.push(run);
  }

  start(control: ReplyControl): void {
    this.control = control;
    this.#tell('start');
    if (this.isGone) control.abort(this.#gone);
  }

  head({ status }: ResponseHead): void {
    this.#tell(`head ${status}`);
  }

  message(message: ReplyMessage): undefined {
    this.#tell(message.text());
  }

  data(chunk: Buffer): undefined {
    this.#tell(String(chunk));
  }

  end(ending: Ending): undefined {
    this.#tell(`end ${ending.outcome}`);
    this.#ended.resolve(ending);
  }

  get #gone(): Ending {
    return { outcome: 'client_closed', error: this.signal.reason };
  }

  #tell(what: string): void {
    this.told.push(what);
    this.onTold(what);
  }
}

/** What comes out of steps behind them. */
export interface Passed {
  readonly operation: Operation;
  /** The last one's. */
  readonly reply: Reply;
}

/** Sends an operation through these steps; undefined where it does not come out of them. */
export async function pass(
  steps: Step | readonly Step[],
  operation: Operation,
  reply: RecordingReply = new RecordingReply(),
): Promise<Passed | undefined> {
  const passed = Promise.withResolvers<Passed | undefined>();
  const all = 'send' in steps ? [steps] : steps;
  compose(all, (out, behind) => passed.resolve({ operation: out, reply: behind }))(operation, reply);
  return Promise.race([passed.promise, reply.ended.then(() => undefined)]);
}

/** As `pass`, for an operation that must come out. */
export async function through(...args: Parameters<typeof pass>): Promise<Passed> {
  const passed = await pass(...args);
  if (passed === undefined) throw new Error('it was not passed on');
  return passed;
}

/** The error that an operation ends with, which does not come out of these steps. */
export async function refusal(steps: Step | readonly Step[], operation: Operation): Promise<unknown> {
  const reply = new RecordingReply();
  if ((await pass(steps, operation, reply)) !== undefined) throw new Error('it was passed on');
  return (await reply.ended).error;
}

/** What a real client gets: status and body. */
export async function answerTo(
  steps: readonly Step[],
  operation: Operation,
  last: Send = () => {
    throw new Error('it was passed on');
  },
): Promise<string> {
  const server = await startReplyServer();
  const keepAlive = new KeepAlive();
  try {
    const opened = await server.open();
    const known = (error: unknown): AdapterError => knownError(error, () => undefined);
    const reply = new HttpReply(operation, opened.reply, { keepAlive, running: new RunningExchanges(), known });
    compose(steps, last)(operation, reply);
    const answer = await opened.answer();
    return `${answer.status} ${await answer.whole()}`;
  } finally {
    keepAlive.stop();
    await server.close();
  }
}
