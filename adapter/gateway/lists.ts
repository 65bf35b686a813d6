import { withVisibleTools } from '../catalog/catalog.ts';
import { AdapterError } from '../errors.ts';
import { locate } from '../exchange/json-scan.ts';
import type { Body } from '../exchange/message.ts';
import type { SessionRecord } from '../state/state-store.ts';
import type { Mount } from './mount.ts';

/** How the answer to these requests must be changed or kept on its way; undefined when it passes as it is. */
export function listAnswer(
  mount: Mount,
  body: Body,
  list: string | undefined,
  record: () => SessionRecord,
): ((text: string) => string) | undefined {
  if (list !== undefined && (mount.lists.enabled || (list.startsWith('tools/list') && mount.disabled.any))) {
    return (text) => shownList(mount, record(), text, list);
  }
  const listed = mount.disabled.any ? toolListIds(body) : undefined;
  return listed !== undefined && listed.length > 0 ? (text) => shownAnswer(mount, text, listed) : undefined;
}

/** Ids of the requests of a batch that ask for tools; undefined for a single message, whose answer is one anyway. */
function toolListIds(body: Body): string[] | undefined {
  if (!body.batch) return undefined;
  return body.messages.flatMap((message) =>
    message.kind === 'request' && message.method === 'tools/list' ? [message.idText] : [],
  );
}

/** The answer as the client may see it. Where something stands in a text can be said of JSON only. */
export function shownAnswer(mount: Mount, text: string, idTexts: readonly string[] | undefined): string {
  if (!isJson(text)) throw notJson();
  return withVisibleTools(text, mount.disabled, idTexts);
}

/** The same for one list, which is kept for the next time. */
function shownList(mount: Mount, record: SessionRecord, text: string, list: string): string {
  const hides = list.startsWith('tools/list') && mount.disabled.any;
  const out = hides ? shownAnswer(mount, text, undefined) : text;
  const result = locate(out, ['result']);
  const kept =
    result === undefined
      ? hides || isJson(out)
      : mount.lists.set(record, list, out.slice(result.start, result.end), Date.now(), () => hides || isJson(out));
  if (!kept) throw notJson();
  return out;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const notJson = (): AdapterError =>
  new AdapterError('upstream_failed', 'The upstream server answered with text that is not valid JSON.');
