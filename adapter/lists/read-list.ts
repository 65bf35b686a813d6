/**
 * What is found out about an answer to a list. The sessions of a server get the same answer again and again, so that each of
 * these knows what it said of the last one.
 */
import { rememberLast } from '../../lib/memory/remember-last.ts';
import { checked } from '../exchange/scanning/checked.ts';
import { folded, locate, members } from '../exchange/scanning/json-scan.ts';
import { LISTS, type ListName } from '../tools/list-of.ts';

/** The text. Throws where it is no JSON. */
export const checkedList = rememberLast(checked);
/** Where the result of the upstream's answer stands. */
export const resultOf = rememberLast((text) => locate(text, ['result']));
/** The same of what the client gets. */
export const keptResultOf = rememberLast((text) => locate(text, ['result']));

/** Whether clients may find another list in a response than the adapter does. */
const ambiguityOf = (kind: ListName): ((text: string) => boolean) =>
  rememberLast((text) => {
    const result = resultOf(text);
    const inList = [LISTS[kind].member, 'nextCursor'];
    return isAmbiguous(text, 0, ['result']) || (result !== undefined && isAmbiguous(text, result.start, inList));
  });

/** By the kind of list. */
export const ambiguities: Readonly<Record<ListName, (text: string) => boolean>> = {
  tools: ambiguityOf('tools'),
  resources: ambiguityOf('resources'),
  templates: ambiguityOf('templates'),
  prompts: ambiguityOf('prompts'),
};

/** Whether an object names one of these members twice, or in a spelling that parsers which ignore case take for it. */
function isAmbiguous(text: string, at: number, names: readonly string[]): boolean {
  const seen = [...members(text, at)].filter(({ key }) => names.includes(folded(key)));
  return seen.some(({ key }, i) => !names.includes(key) || seen.findIndex((other) => other.key === key) !== i);
}
