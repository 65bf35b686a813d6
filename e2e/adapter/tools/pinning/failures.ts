import type { Interception } from '../../../support/scripted-upstream/behavior.ts';

/** How an upstream may fail to say what tools it has. */
export interface Failure {
  readonly what: string;
  /** Which of several pages; `any` for a list that is one. */
  readonly onPage: 'any' | 'further';
  /** Instead of a list. `idText` is the id of the request. */
  readonly answer: (idText: string) => Interception;
}

const json = (body: string, status = 200): Interception => ({
  status,
  headers: { 'content-type': 'application/json' },
  body,
});
const error = (idText: string, code: number): string =>
  `{"jsonrpc":"2.0","id":${idText},"error":{"code":${code},"message":"Not now"}}`;
const result = (idText: string, text: string): string => `{"jsonrpc":"2.0","id":${idText},"result":${text}}`;

export const failures: readonly Failure[] = [
  { what: 'HTTP 500', onPage: 'any', answer: () => ({ status: 500, body: 'oops' }) },
  { what: 'HTTP 503', onPage: 'any', answer: (id) => json(error(id, -32_000), 503) },
  { what: 'an error', onPage: 'any', answer: (id) => json(error(id, -32_603)) },
  { what: 'an unknown method', onPage: 'any', answer: (id) => json(error(id, -32_601)) },
  { what: 'no answer', onPage: 'any', answer: () => 'destroy' },
  { what: 'no JSON', onPage: 'any', answer: () => json('{"jsonrpc":') },
  { what: 'no list', onPage: 'any', answer: (id) => json(result(id, '{}')) },
  { what: 'something else as list', onPage: 'any', answer: (id) => json(result(id, '{"tools":{"same":{}}}')) },
  { what: 'an error on a further page', onPage: 'further', answer: (id) => json(error(id, -32_603)) },
  { what: 'no list on a further page', onPage: 'further', answer: (id) => json(result(id, '{"nextCursor":"x"}')) },
];
