import type { StreamedAnswer } from '../exchange/answers/answer.ts';
import { toolResultIn } from '../exchange/tool-result.ts';
import { toolName } from '../exchange/message.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import { type Ending, failed } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply, type ReplyControl } from '../path/reply.ts';
import { ReplyMessage } from '../path/reply-message.ts';
import type { Send, Step } from '../path/step.ts';
import { callerOwner, type TaskStore, toolOfTask } from '../sessions/session-tasks.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import { hasSession } from '../sessions/workspace-record.ts';
import type { OpenWorkspace, Workspaces } from '../sessions/workspaces.ts';
import { Outline } from '../spill/outline.ts';
import { passedNote } from '../spill/passed-note.ts';
import type { ResultSpilling } from '../spill/result-spilling.ts';
import type { ResultSource } from '../spill/result-texts.ts';
import type { SpillCall } from '../spill/spill.ts';
import type { SpillSettings } from '../spill/spill-settings.ts';
import { SpooledAnswer } from '../spill/spooled-answer.ts';
import type { FileRecord } from '../state/file-records.ts';

/** The first revision with resource links in results. */
const LINK_REVISION = '2025-06-18';
const OF_TASKS: ReadonlySet<string> = new Set(['tasks/result', 'tasks/get']);

/**
 * Results of tools that are longer than `results` allows: their longest texts become artifacts, with a preview in their
 * place. What code gets of the tools that it calls stays whole.
 */
export class SpilledResults implements Step {
  readonly #spilling: ResultSpilling;
  readonly #client: Pick<ClientUpstream, 'listing'>;
  readonly #workspaces: Pick<Workspaces, 'open'>;
  readonly #tasks: TaskStore;

  constructor(
    spilling: ResultSpilling,
    client: Pick<ClientUpstream, 'listing'>,
    workspaces: Pick<Workspaces, 'open'>,
    tasks: TaskStore,
  ) {
    this.#spilling = spilling;
    this.#client = client;
    this.#workspaces = workspaces;
    this.#tasks = tasks;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const { isGet, isNested, calls, request, body } = operation;
    const [call] = calls;
    const isOfTask = request !== undefined && OF_TASKS.has(request.method);
    if (isNested || body.batch || (call === undefined && !isGet && !isOfTask)) {
      next(operation, reply);
      return undefined;
    }
    if (isOfTask) return this.#sendOfTask(operation, reply, next, request.params['taskId']);
    // On a stream of the session nobody knows whose result it is.
    this.#send(operation, reply, next, (call && toolName(call)) ?? '');
    return undefined;
  }

  async #sendOfTask(operation: Operation, reply: Reply, next: Send, taskId: unknown): Promise<void> {
    const { isSessionless, serverId, caller } = operation;
    const owner = isSessionless ? callerOwner(serverId, caller.principal) : operation.session;
    this.#send(operation, reply, next, await toolOfTask(this.#tasks, owner, taskId));
  }

  #send(operation: Operation, reply: Reply, next: Send, tool: string): void {
    const settings = this.#spilling.settingsOf(tool);
    if (settings === undefined) return next(operation, reply);
    next(operation, new SpilledReply(reply, operation, { ...this.#parts(), tool, settings }));
  }

  #parts(): Pick<ReplyDeps, 'spilling' | 'client' | 'workspaces'> {
    return { spilling: this.#spilling, client: this.#client, workspaces: this.#workspaces };
  }
}

interface ReplyDeps {
  readonly spilling: ResultSpilling;
  readonly client: Pick<ClientUpstream, 'listing'>;
  readonly workspaces: Pick<Workspaces, 'open'>;
  readonly tool: string;
  readonly settings: SpillSettings;
}

/** A large answer on its way to the disk. */
interface Spooling {
  readonly message: ReplyMessage;
  readonly answer: SpooledAnswer;
  readonly held: () => FileRecord | undefined;
  /** It has left, or is leaving, as it came. */
  passed: Promise<void> | undefined;
}

class SpilledReply extends PassedReply {
  readonly #operation: Operation;
  readonly #parts: ReplyDeps;
  #control: ReplyControl | undefined;
  #spooling: Spooling | undefined;
  #workspace: Promise<OpenWorkspace> | undefined;

  constructor(next: Reply, operation: Operation, parts: ReplyDeps) {
    super(next);
    this.#operation = operation;
    this.#parts = parts;
  }

  override start(control: ReplyControl): void {
    this.#control = control;
    this.next.start(control);
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    const { kind, isOpen, streamed } = message;
    if ((kind !== 'response' && kind !== 'unsolicited') || streamed !== undefined) return this.next.message(message);
    if (isOpen && this.#control !== undefined) return this.#spool(message, this.#control);
    return sizeOf(message.body) <= this.#parts.settings.overChars
      ? this.next.message(message)
      : this.#shortened(message);
  }

  override data(chunk: Buffer, isLast: boolean): Promise<void> | undefined {
    const spooling = this.#spooling;
    if (spooling === undefined) return this.next.data(chunk, isLast);
    // What comes last ends the event, and is no part of the message.
    if (isLast) return this.#endSpool(spooling);
    spooling.answer.push(chunk);
    return undefined;
  }

  override end(ending: Ending): Promise<void> | undefined {
    if (this.#spooling === undefined && this.#workspace === undefined) return this.next.end(ending);
    return this.#end(ending, this.#spooling);
  }

  async #end(ending: Ending, spooling: Spooling | undefined): Promise<void> {
    let end = ending;
    try {
      if (spooling !== undefined && ending.outcome === 'ok' && ending.error === undefined) {
        await this.#endSpool(spooling);
      } else if (spooling !== undefined) await this.#dropSpool(spooling);
    } catch (error) {
      // A part of the answer has left.
      end = failed(error);
    }
    // The place in the session is free before the client can see that it has its answer.
    const { leave } = (await this.#workspace?.catch(() => undefined)) ?? NO_WORKSPACE;
    await leave(false);
    return this.next.end(end);
  }

  /** What may be too much to be looked at, or fails to be, passes as it is. */
  async #shortened(message: ReplyMessage): Promise<void> {
    let answer: Awaited<ReturnType<typeof this.of>>;
    try {
      answer = await this.of({ outline: new Outline(message.text()), read: () => NOTHING }, undefined);
    } catch (error) {
      if (!this.isGone) this.#parts.spilling.onPassed(error);
    }
    return this.next.message(answer === undefined ? message : message.with(answer));
  }

  of(source: ResultSource, release: (() => Promise<void>) | undefined): ReturnType<ResultSpilling['spill']['of']> {
    const result = toolResultIn(source.outline.text);
    if (result === undefined) return Promise.resolve(undefined);
    return this.#parts.spilling.spill.of({ ...this.#call(), ...(release && { release }) }, source, result);
  }

  #call(): SpillCall {
    const { tool, settings, spilling, client } = this.#parts;
    const operation = this.#operation;
    return {
      tool,
      settings,
      signal: this.signal,
      output: () => spilling.outputs.of(client.listing(operation, operation.session), tool),
      home: () => this.#home(),
      takesLinks: operation.session.protocolVersion >= LINK_REVISION,
      downloadUrl: async (file, uri) =>
        spilling.downloadUrl?.(file, uri, {
          caller: operation.caller,
          record: operation.session,
          timeoutMs: operation.timeoutMs,
        }),
    };
  }

  async #home(): Promise<OpenWorkspace['record']> {
    const { session, serverId, caller } = this.#operation;
    if (!isWorkspace(session) || hasSession(session)) return session;
    return (await (this.#workspace ??= this.#parts.workspaces.open(serverId, caller.principal))).record;
  }

  // ── large answers ──────────────────────────────────────────────────────────────────────────────────────────────

  #spool(message: ReplyMessage, control: ReplyControl): undefined {
    const { spilling, tool } = this.#parts;
    let held: FileRecord | undefined;
    const answer = new SpooledAnswer({
      control,
      open: spilling.scratch,
      count: async (bytes) => {
        held ??= await spilling.keeper.hold(await this.#home(), tool);
        await spilling.keeper.count(held, bytes);
      },
      onFailed: (fault, rest) => {
        const { code, message: detail } = spilling.onPassed(fault);
        spooling.passed = this.#pass(message, rest);
        // Whoever ends the answer hears of it.
        spooling.passed.catch(() => undefined);
        return passedNote(code, detail);
      },
    });
    const spooling: Spooling = { message, answer, held: () => held, passed: undefined };
    this.#spooling = spooling;
    for (const part of message.body as readonly Buffer[]) answer.push(part);
  }

  async #endSpool(spooling: Spooling): Promise<void> {
    const { message, answer, held } = spooling;
    const { keeper } = this.#parts.spilling;
    this.#spooling = undefined;
    try {
      const source = await answer.whole();
      if (spooling.passed !== undefined) return await spooling.passed;
      const release = async (): Promise<void> => {
        const file = held();
        if (file !== undefined) await keeper.drop(file);
      };
      const shorter = source === undefined ? undefined : await this.#unlessFailed(() => this.of(source, release));
      const left = shorter ?? answer.asItCame;
      if (left !== undefined) await this.next.message(changed(message, left));
    } finally {
      await this.#close(spooling);
    }
  }

  async #dropSpool(spooling: Spooling): Promise<void> {
    this.#spooling = undefined;
    await this.#close(spooling);
    await spooling.passed;
  }

  async #close({ answer, held }: Spooling): Promise<void> {
    await answer.close();
    const file = held();
    if (file !== undefined) await this.#parts.spilling.keeper.drop(file);
  }

  async #pass(message: ReplyMessage, rest: StreamedAnswer): Promise<void> {
    await this.next.message(changed(message, rest));
  }

  async #unlessFailed<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!this.isGone) this.#parts.spilling.onPassed(error);
      return undefined;
    }
  }
}

const NO_WORKSPACE = { leave: async (): Promise<void> => {} };

/** The message, whole and with other content. */
const changed = ({ kind, frame }: ReplyMessage, answer: string | StreamedAnswer): ReplyMessage =>
  new ReplyMessage(kind, answer, { frame, isChanged: true });

/** In characters, or more. */
function sizeOf(body: ReplyMessage['body']): number {
  if (typeof body === 'string') return body.length;
  let size = 0;
  for (const part of body) size += part.length;
  return size;
}

// oxlint-disable-next-line require-yield -- a message in memory has no holes
async function* nothing(): AsyncGenerator<Buffer> {}
const NOTHING = nothing();
