import { METHOD_NOT_FOUND } from '../../exchange/message.ts';
import { locate, splice } from '../../exchange/scanning/json-scan.ts';

/** The response (JSON text) to a request of a method that there is not. */
export const noSuchMethod = (idText: string): string =>
  `{"jsonrpc":"2.0","id":${idText},"error":{"code":${METHOD_NOT_FOUND},"message":"Method not found"}}`;

/** A response (JSON text) under the id of another request. */
export function withId(text: string, idText: string): string {
  const span = locate(text, ['id']);
  return span === undefined ? text : splice(text, [{ ...span, with: idText }]);
}
