import type { DisabledTools as Disabled } from '../../catalog/disabled-tools.ts';
import { hasInvisible } from '../../catalog/visible-text.ts';
import { AdapterError } from '../../errors.ts';
import { type Message, toolName } from '../../exchange/message.ts';
import type { Operation } from '../../path/operation.ts';
import type { Reply } from '../../path/reply.ts';
import type { Send, Step } from '../../path/step.ts';

/** Refuses calls of tools that `disabled_tools` or their own names hide; to the client they do not exist. */
export class DisabledTools implements Step {
  readonly concerns = 'calls';
  readonly #disabled: Disabled;
  readonly #hidesUnseen: boolean;

  constructor({ disabled, hidesUnseen }: { readonly disabled: Disabled; readonly hidesUnseen: boolean }) {
    this.#disabled = disabled;
    this.#hidesUnseen = hidesUnseen;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    const { calls, body } = operation;
    // Each call of a batch has its own answer (see PinnedTools).
    if (!body.batch) for (const call of calls) this.check(call);
    next(operation, reply);
  }

  /** Throws `unknown_tool`. */
  check(call: Message): void {
    const name = toolName(call);
    if (this.#hidesUnseen && name !== undefined && hasInvisible(name)) {
      throw new AdapterError('unknown_tool', 'Unknown tool: its name has invisible characters.');
    }
    if (!this.#disabled.any) return;
    if (name === undefined) throw new AdapterError('unknown_tool', 'The tool call names no tool.');
    if (this.#disabled.matches(name)) throw new AdapterError('unknown_tool', `Unknown tool: ${name}`);
  }
}
