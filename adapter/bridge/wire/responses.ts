import { METHOD_NOT_FOUND } from '../../exchange/message.ts';
import { locate, splice } from '../../exchange/scanning/json-scan.ts';

/** The response (JSON text) that says why there is no result. */
export const errorResponse = (
  idText: string,
  error: { readonly code: number; readonly message: string; readonly data?: object },
): string => `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}`;

/** The response (JSON text) to a request of a method that there is not. */
export const noSuchMethod = (idText: string): string =>
  errorResponse(idText, { code: METHOD_NOT_FOUND, message: 'Method not found' });

/** A response (JSON text) with this id (JSON text): servers round large numbers, and escape as they like. */
export function withId(text: string, idText: string): string {
  const span = locate(text, ['id']);
  return span === undefined ? withNewId(text, idText) : splice(text, [{ ...span, with: idText }]);
}

/** As `withId`, of a response that has none. */
export function withNewId(text: string, idText: string): string {
  const at = text.indexOf('{') + 1;
  return `${text.slice(0, at)}"id":${idText},${text.slice(at)}`;
}
