import { createHash } from 'node:crypto';

import { canonicalJson, compare } from '../catalog/canonical-json.ts';
import { insertMember } from '../catalog/insert-member.ts';
import { locate, members, splice, withoutMember } from '../exchange/scanning/json-scan.ts';
import { openText, sealText } from '../sealed-text.ts';

/** What the adapter's own `requestState` says (MCP 2026-07-28, multi-round-trip requests). */
export interface QuestionState {
  readonly serverId: string;
  readonly principal: string;
  readonly tool: string;
  /** See `paramsDigest`. */
  readonly params: string;
  /** The workspace that the files are uploaded to. */
  readonly sessionId: string;
  readonly elicitationId: string;
  readonly url: string;
  /** Milliseconds since the epoch, as that of the link. */
  readonly expiresAt: number;
  /** The upstream has had the files, and asks something itself. */
  readonly asksToo?: UpstreamQuestion;
}

export interface UpstreamQuestion {
  /** JSON text of the upstream's own state, as it wrote it; null for none. */
  readonly stateText: string | null;
}

/** Marks the adapter's own states; any other is of an upstream, and none of its business. */
const PREFIX = 'mcp-adapter-upload.1.';
const PURPOSE = 'question for an upload';
/** Those that carry one of an upstream can be long. */
const MAX_CHARS = 1_048_576;
const RETRY_MEMBERS = ['inputResponses', 'requestState'];

export const isOwnState = (state: unknown): state is string => typeof state === 'string' && state.startsWith(PREFIX);

export const sealQuestion = (secret: string, state: QuestionState): string =>
  PREFIX + sealText(secret, PURPOSE, JSON.stringify(state));

/** Undefined: it was not made here, or was changed. */
export function openQuestion(secret: string, state: string): QuestionState | undefined {
  if (state.length > MAX_CHARS) return undefined;
  const text = openText(secret, PURPOSE, state.slice(PREFIX.length));
  return text === undefined ? undefined : (JSON.parse(text) as QuestionState);
}

/**
 * Stands for the parameters of a call, however they are written, without what a retry adds, and without `_meta`, which
 * has a progress token and trace of its own for each request.
 */
export function paramsDigest(body: string): string {
  const params = locate(body, ['params']);
  const digest = createHash('sha256');
  if (params === undefined) return digest.digest('base64url');
  const kept = [...members(body, params.start)]
    .filter(({ key }) => key !== '_meta' && !RETRY_MEMBERS.includes(key))
    .sort((a, b) => compare(a.key, b.key));
  for (const { key, start, end } of kept) {
    digest.update(`${JSON.stringify(key)}:${canonicalJson(body.slice(start, end), 0, 'data')}\n`);
  }
  return digest.digest('base64url');
}

/** The body as it was before the question; with `asksToo` it is what the upstream waits for. */
export function withoutAnswers(body: string, asksToo: UpstreamQuestion | undefined): string {
  const params = locate(body, ['params']);
  if (params === undefined) return body;
  const state = locate(body, ['params', 'requestState']);
  if (state !== undefined && typeof asksToo?.stateText === 'string') {
    return splice(body, [{ ...state, with: asksToo.stateText }]);
  }
  const gone = asksToo === undefined ? RETRY_MEMBERS : ['requestState'];
  const rest = gone.reduce(withoutMember, body.slice(params.start, params.end));
  return splice(body, [{ ...params, with: rest }]);
}

/** A response (JSON text) in which the upstream asks something, with `seal` of its state in its place; others as they are. */
export function withOwnState(response: string, seal: (stateText: string | null) => string): string {
  const result = locate(response, ['result']);
  const type = locate(response, ['result', 'resultType']);
  if (result === undefined || type === undefined) return response;
  if (JSON.parse(response.slice(type.start, type.end)) !== 'input_required') return response;
  const state = locate(response, ['result', 'requestState']);
  const own = JSON.stringify(seal(state === undefined ? null : response.slice(state.start, state.end)));
  if (state !== undefined) return splice(response, [{ ...state, with: own }]);
  return splice(response, [insertMember(response, result, 'requestState', own)]);
}
