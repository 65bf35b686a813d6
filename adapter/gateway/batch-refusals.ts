import { AdapterError, rpcErrorText } from '../errors.ts';
import { elements, splice } from '../exchange/json-scan.ts';
import { type Body, isResponseTo, type Message, type Request, toolName } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { refuseDisabled } from './admission.ts';
import { stepOf } from './call-tool.ts';
import { checked } from './checked.ts';
import { eachMessage } from './each-message.ts';
import { TurnTools } from './turn-tools.ts';
import type { Turn } from './turn.ts';

/** What is wrong with one call, and says nothing about the others. */
const OF_ONE_CALL: ReadonlySet<string> = new Set(['unknown_tool', 'tool_definition_drift', 'invalid_request']);

/** Calls of a batch that do not go upstream. */
export class BatchRefusals {
  /** By the ids of the calls, as JSON texts. */
  readonly #errors: ReadonlyMap<string, AdapterError>;

  private constructor(errors: ReadonlyMap<string, AdapterError>) {
    this.#errors = errors;
  }

  /** Undefined where all may go. */
  static async of(turn: Turn, record: SessionRecord, body: Body): Promise<BatchRefusals | undefined> {
    const errors = new Map<string, AdapterError>();
    const allowed: Request[] = [];
    for (const call of body.messages) {
      if (call.kind !== 'request' || call.method !== 'tools/call') continue;
      const error = refusalOf(turn, body, call);
      if (error === undefined) allowed.push(call);
      else errors.set(call.idText, error);
    }
    const { surface } = turn.mount;
    if (surface.checksCalls && allowed.length > 0) {
      const refused = await surface.refusals(new TurnTools(turn), record, allowed.map(toolName));
      for (const call of allowed) {
        const error = refused.get(toolName(call));
        if (error === undefined) continue;
        if (!OF_ONE_CALL.has(error.code)) throw error;
        errors.set(call.idText, error);
      }
    }
    return errors.size === 0 ? undefined : new BatchRefusals(errors);
  }

  refuses(message: Message): boolean {
    return message.kind === 'request' && this.#errors.has(message.idText);
  }

  /** The batch as it goes upstream: pings keep the places of calls that are refused, so that each has its answer in its turn. */
  sent(body: Body): Body {
    const spans = [...elements(body.text)];
    const edits = body.messages.flatMap((message, i) => {
      const span = spans[i];
      if (span === undefined || !this.refuses(message)) return [];
      return [{ ...span, with: `{"jsonrpc":"2.0","id":${(message as Request).idText},"method":"ping"}` }];
    });
    const text = splice(body.text, edits);
    const messages = body.messages.map((message) =>
      this.refuses(message) ? { ...(message as Request), method: 'ping', params: {} } : message,
    );
    return { ...body, bytes: Buffer.from(text), text, messages };
  }

  /** An answer of the upstream (JSON text) with the errors in the places of the pings. */
  answered(text: string): string | Promise<string> {
    return eachMessage(checked(text), (message) => {
      for (const [idText, { code, message: reason, data }] of this.#errors) {
        if (isResponseTo(message, idText)) return rpcErrorText(code, reason, idText, data);
      }
      return message;
    });
  }
}

function refusalOf(turn: Turn, body: Body, call: Request): AdapterError | undefined {
  try {
    refuseDisabled(turn.mount, call);
    stepOf(turn.mount, body, [call]);
    return undefined;
  } catch (error) {
    if (error instanceof AdapterError && OF_ONE_CALL.has(error.code)) return error;
    throw error;
  }
}
