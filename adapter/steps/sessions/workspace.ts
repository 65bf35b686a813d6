import { taskIn } from '../../exchange/tool-result.ts';
import { toolName } from '../../exchange/message.ts';
import type { ToolStep } from '../../tools/visible/tool-step.ts';
import type { Ending } from '../../path/ending.ts';
import type { Operation } from '../../path/operation.ts';
import { PassedReply, type Reply } from '../../path/reply.ts';
import type { ReplyMessage } from '../../path/reply-message.ts';
import type { Send, Step } from '../../path/step.ts';
import type { Workspaces } from '../../sessions/workspaces.ts';

/**
 * Opens a session for a call without one that makes something which must belong to one: a file, or the permission to upload
 * one. It is in use while the call runs, and is removed again when nothing came of that.
 */
export class Workspace implements Step {
  readonly concerns = 'calls';
  readonly #steps: ReadonlyMap<string, Pick<ToolStep, 'needsHome'>>;
  readonly #workspaces: Pick<Workspaces, 'open'>;

  constructor(steps: ReadonlyMap<string, Pick<ToolStep, 'needsHome'>>, workspaces: Pick<Workspaces, 'open'>) {
    this.#steps = steps;
    this.#workspaces = workspaces;
  }

  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined {
    const [call] = operation.calls;
    const step = call && this.#steps.get(toolName(call) ?? '');
    const needsHome = step?.needsHome ?? false;
    if (typeof needsHome === 'function' ? needsHome(operation.body) : needsHome) {
      return this.#open(operation, reply, next);
    }
    next(operation, reply);
    return undefined;
  }

  async #open(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const { record, leave } = await this.#workspaces.open(operation.serverId, operation.caller.principal);
    operation.record = record;
    next(operation, new InWorkspace(reply, leave));
  }
}

class InWorkspace extends PassedReply {
  readonly #leave: (isKept: boolean) => Promise<void>;
  /** The upstream was asked. */
  #isAsked = false;
  /** The client has been told of the workspace, to upload something to it. */
  #isToldOf = false;

  constructor(next: Reply, leave: (isKept: boolean) => Promise<void>) {
    super(next);
    this.#leave = leave;
  }

  override start(control: Parameters<Reply['start']>[0]): void {
    this.#isAsked = true;
    this.next.start(control);
  }

  override message(message: ReplyMessage): Promise<void> | undefined {
    if (!this.#isAsked) this.#isToldOf = !saysError(message.text());
    else if (message.kind === 'response' && !message.isOpen && taskIn(message.text()) !== undefined)
      this.#isToldOf = true;
    return this.next.message(message);
  }

  override async end(ending: Ending): Promise<void> {
    await this.#leave(this.#isToldOf);
    return this.next.end(ending);
  }
}

function saysError(response: string): boolean {
  return (JSON.parse(response) as { result?: { isError?: unknown } }).result?.isError === true;
}
