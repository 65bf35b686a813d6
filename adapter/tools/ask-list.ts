import { AdapterError } from '../errors.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { LISTS, type ListOf } from './list-of.ts';
import { wholeList } from './list-tools.ts';
import { abortable } from './abortable.ts';
import type { ToolSource } from './tool-source.ts';

/**
 * The whole list as the upstream gives it now, as one page (JSON text). Asks in a session that the upstream has lost once
 * more in a new one. Throws as `wholeList` does.
 */
export async function askList(
  source: Pick<ToolSource, 'request' | 'renew'>,
  record: SessionRecord,
  signal: AbortSignal,
  of: ListOf = LISTS.tools,
): Promise<string> {
  try {
    return await wholeList(source.request(record), signal, undefined, of);
  } catch (error) {
    if (!(error instanceof AdapterError) || error.code !== 'upstream_session_terminated') throw error;
  }
  const renewed = await abortable(source.renew(record), signal);
  return wholeList(source.request(renewed), signal, undefined, of);
}
