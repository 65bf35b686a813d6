import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import { objectOf } from '../../lib/json/json-object.ts';
import { AdapterError } from '../errors.ts';
import { editedCall, errorResult } from '../exchange/edited-call.ts';
import type { SignedUploadUrl } from '../files/urls/upload-urls.ts';
import { workspaceRecord } from '../sessions/workspace-record.ts';
import type { Workspaces } from '../sessions/workspaces.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { PreparedCall, ToolCall } from '../tools/visible/tool-step.ts';
import {
  isOwnState,
  openQuestion,
  paramsDigest,
  type QuestionState,
  sealQuestion,
  withoutAnswers,
  withOwnState,
} from './question-state.ts';

export interface UploadQuestionOptions {
  readonly serverId: string;
  /** Shared by all replicas. */
  readonly secret: string;
  readonly workspaces: Pick<Workspaces, 'open'>;
  readonly mayUse: (call: ToolCall, sessionId: string) => Promise<boolean>;
  /** Makes the page; `call` is one in the workspace. */
  readonly offer: (call: ToolCall, elicitationId: string | null) => Promise<SignedUploadUrl>;
  /** Whether the page of a link that `offer` made takes files still: nobody has begun to upload there. */
  readonly isOpen: (url: string) => Promise<boolean>;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** How long an answer waits for the file, in milliseconds. Default: 20 s. */
  readonly waitMs?: number;
}

/** A call that answers a question of ours. */
export interface AnsweredQuestion {
  /** As it was first made. */
  readonly call: ToolCall;
  readonly state: QuestionState;
}

/** The key of the only question. */
const KEY = 'upload';
/** Clients say "accepted" when the page was opened, long before a file is there, and many make ten rounds at most. */
const WAIT_MS = 20_000;
/** Of the time limit of a call, so much is left for the call itself. */
const SHARE = 1 / 2;
const LOOK_MS = 500;
/** How long the user has for a question of the upstream; its files expire earlier when nobody uses them. */
const UPSTREAM_MS = 3_600_000;
/** Each looks for the files twice a second; answers on top are answered at once. */
const MAX_WAITING = 64;

/**
 * Asks the user of a client without sessions for a file that a call lacks (MCP 2026-07-28, multi-round-trip requests,
 * elicitation in URL mode). All that is known of the question travels in its sealed state, so any replica takes the answer.
 */
export class UploadQuestion {
  readonly #options: UploadQuestionOptions;
  #waiting = 0;

  constructor(options: UploadQuestionOptions) {
    this.#options = options;
  }

  /** Undefined: the call answers no question of ours. */
  async answered(call: ToolCall): Promise<AnsweredQuestion | { readonly refused: PreparedCall } | undefined> {
    const { params } = call.request;
    const sealed = params['requestState'];
    if (!isOwnState(sealed)) return undefined;
    const { serverId, secret, mayUse, clock } = this.#options;
    const state = openQuestion(secret, sealed);
    const isTheirs =
      state !== undefined &&
      state.serverId === serverId &&
      state.principal === call.record.principal &&
      state.tool === call.tool &&
      state.params === paramsDigest(call.body.text);
    if (!isTheirs) return invalid('The requestState is not one that was given for this call; make the call anew.');
    const isOver = state.expiresAt < clock() || !(await mayUse(call, state.sessionId));
    if (isOver) return invalid('The requestState has expired; make the call anew to be asked again.');
    const answer = state.asksToo === undefined ? actionOf(params['inputResponses']) : 'accept';
    if (answer === 'decline' || answer === 'cancel') {
      const how = answer === 'decline' ? 'declined' : 'cancelled';
      return { refused: { kind: 'result', result: errorResult(`The user has ${how} the upload of the file.`) } };
    }
    if (answer === undefined) return { refused: await this.askAgain(call, state) };
    const body = editedCall(call.request, withoutAnswers(call.body.text, state.asksToo));
    const [request] = body.messages;
    return { call: { ...call, body, request: request?.kind === 'request' ? request : call.request }, state };
  }

  /** Opens a workspace and a page for it. Fails with AdapterError where there may be no more sessions. */
  async ask(call: ToolCall): Promise<PreparedCall> {
    const { serverId, workspaces, offer } = this.#options;
    const { principal } = call.record;
    const { record, leave } = await workspaces.open(serverId, principal);
    let isKept = false;
    try {
      // No client listens in a workspace for the end of an elicitation.
      const { url, expiresAt } = await offer({ ...call, record }, null);
      isKept = true;
      const { sessionId } = record;
      const params = paramsDigest(call.body.text);
      const elicitationId = randomUUID();
      return this.#question(call, {
        serverId,
        principal,
        tool: call.tool,
        params,
        sessionId,
        elicitationId,
        url,
        expiresAt,
      });
    } finally {
      await leave(isKept);
    }
  }

  /**
   * The same question once more: the same link, as long as it lives and nobody has uploaded there. An upload that failed,
   * or whose file has expired, has used it up; then there is another, for the same workspace.
   */
  async askAgain(call: ToolCall, state: QuestionState): Promise<PreparedCall> {
    const { isOpen, offer, clock } = this.#options;
    if (await isOpen(state.url)) return this.#question(call, state);
    const { serverId, sessionId, principal } = state;
    const record = workspaceRecord(serverId, sessionId, principal, clock());
    return this.#question(call, { ...state, ...(await offer({ ...call, record }, null)) });
  }

  #question(call: ToolCall, state: QuestionState): PreparedCall {
    const { elicitationId, url } = state;
    const message = uploadMessage(call.tool);
    const result = {
      resultType: 'input_required',
      inputRequests: {
        [KEY]: { method: 'elicitation/create', params: { mode: 'url', elicitationId, url, message } },
      },
      requestState: sealQuestion(this.#options.secret, state),
    };
    return { kind: 'result', result: JSON.stringify(result) };
  }

  /**
   * Goes on with the files. Where the upstream asks something in turn, the client's retry has no handles: our state is
   * needed once more, and carries that of the upstream.
   */
  goOn({ state }: AnsweredQuestion, prepared: PreparedCall): PreparedCall {
    if (prepared.kind !== 'forward') return prepared;
    const { secret, clock } = this.#options;
    const seal = (stateText: string | null): string =>
      sealQuestion(secret, { ...state, expiresAt: clock() + UPSTREAM_MS, asksToo: { stateText } });
    const { onResponse = (text: string) => text } = prepared;
    return {
      ...prepared,
      onResponse: async (text) => {
        const answer = await onResponse(text);
        return typeof answer === 'string' ? withOwnState(answer, seal) : answer;
      },
    };
  }

  /** The files as soon as there are some; none when they do not come in time. Fails when nobody waits any more. */
  async arrived(
    { call, state }: AnsweredQuestion,
    find: () => Promise<readonly FileRecord[]>,
  ): Promise<readonly FileRecord[]> {
    const { clock, waitMs = WAIT_MS } = this.#options;
    const until = Math.min(clock() + Math.min(waitMs, (call.timeoutMs ?? Infinity) * SHARE), state.expiresAt);
    const waits = state.asksToo === undefined && this.#waiting < MAX_WAITING;
    if (waits) this.#waiting++;
    try {
      for (;;) {
        const files = await find();
        if (files.length > 0 || !waits || clock() >= until) return files;
        // Fails below, with the reason.
        await delay(LOOK_MS, undefined, { signal: call.signal }).catch(() => undefined);
        call.signal.throwIfAborted();
      }
    } finally {
      if (waits) this.#waiting--;
    }
  }
}

export const uploadMessage = (tool: string): string =>
  `The tool "${tool}" needs a file. Open the page to upload it, then let the call be made again.`;

const invalid = (why: string): { readonly refused: PreparedCall } => ({
  refused: { kind: 'error', error: new AdapterError('request_state_invalid', why) },
});

/** What the user did; undefined when the client does not say. */
function actionOf(responses: unknown): 'accept' | 'decline' | 'cancel' | undefined {
  const action = objectOf(objectOf(responses)[KEY])['action'];
  return action === 'accept' || action === 'decline' || action === 'cancel' ? action : undefined;
}
