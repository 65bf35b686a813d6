import { AdapterError, type ErrorCode, ERRORS, rpcErrorText } from '../errors.ts';
import type { Ending } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';

const INVALID_PARAMS = -32602;

/**
 * There is no such resource, as a client of either family is told. Not with the status of the table: HTTP 404 would tell it that
 * its session is gone.
 */
export function noSuchResource(operation: Operation, outcome: ErrorCode, uri: unknown): Ending {
  const [idText = 'null'] = operation.idTexts;
  if (!operation.isSessionless) {
    const { code, message } = new AdapterError(outcome, 'There is no such resource.');
    return { outcome, text: rpcErrorText(code, message, idText, { uri }) };
  }
  // -32002 belongs to the revisions with sessions.
  const error = { code: INVALID_PARAMS, message: ERRORS.unknown_resource.detail, data: { code: outcome, uri } };
  return { outcome, text: `{"jsonrpc":"2.0","id":${idText},"error":${JSON.stringify(error)}}` };
}
