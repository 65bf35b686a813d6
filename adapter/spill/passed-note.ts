import { locate, members, type Span } from '../exchange/scanning/json-scan.ts';
import { toolResultIn } from '../exchange/tool-result.ts';
import type { PassedNote } from './spooled-answer.ts';

/**
 * Says in `_meta.artifact_error` of a result why its texts are not kept, though all of the message but its end has left:
 * where the result, or its `_meta`, ends there.
 */
export const passedNote =
  (code: string, detail: string): PassedNote =>
  ({ text }, end) => {
    const result = toolResultIn(text);
    if (result === undefined || text.charAt(result.start) !== '{') return end;
    const member = `"artifact_error":${JSON.stringify({ code, detail })}`;
    const meta = locate(text, ['_meta'], result.start);
    if (meta === undefined) return inserted(text, end, result, `"_meta":{${member}}`);
    return text.charAt(meta.start) === '{' ? inserted(text, end, meta, member) : end;
  };

/** The end with one more member of an object that ends in it. */
function inserted(text: string, end: Buffer, object: Span, member: string): Buffer {
  const behind = Buffer.from(text.slice(object.end - 1));
  const at = end.length - behind.length;
  // A hole behind the object, or an object that has left already.
  if (at < 0 || !end.subarray(at).equals(behind)) return end;
  const isEmpty = members(text, object.start).next().done === true;
  return Buffer.concat([end.subarray(0, at), Buffer.from(`${isEmpty ? '' : ','}${member}`), behind]);
}
