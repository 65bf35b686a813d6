import { MISSING_CAPABILITY } from '../older/refusals.ts';
import { errorResponse } from '../wire/responses.ts';

/** `inputRequests` of a result (JSON text), and the upstream's ids (JSON texts) by their keys. */
export interface InputRequests {
  readonly ids: Readonly<Record<string, string>>;
  readonly requests: string;
}

/** JSON text of a result (MCP 2026-07-28, multi round-trip requests). */
export const inputRequired = (requests: string, state: string): string =>
  `{"resultType":"input_required","inputRequests":${requests},"requestState":${JSON.stringify(state)}}`;

/** That these pages are opened (JSON texts of parameters). The upstream has not asked for it, so it waits for no answer. */
export function pageRequests(pages: readonly string[]): InputRequests {
  const requests = pages.map((params, index) => `"${index}":{"method":"elicitation/create","params":${params}}`);
  return { ids: Object.fromEntries(pages.map((_, index) => [index, ''])), requests: `{${requests.join(',')}}` };
}

/** The response (JSON text) to a client that cannot show pages, where some have to be opened. */
export function needsPages(idText: string): string {
  const data = { requiredCapabilities: { elicitation: { url: {} } } };
  const error = { code: MISSING_CAPABILITY, message: 'This needs elicitation.url.', data };
  return errorResponse(idText, error);
}
