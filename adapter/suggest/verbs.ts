import { wordsOf } from './words.ts';

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

/** What tools do that leave their files as they are. */
const READING = words(
  'read get describe list find search show view inspect analyze analyse validate check verify count extract parse summarize ' +
    'summarise info query lookup compare diff preview open load detect classify measure probe stat tree head tail grep ocr ' +
    'transcribe convert info stats metadata',
);
/** What tools do that change something. One of these decides, whatever stands before it: `search_and_replace`. */
const WRITING = words(
  'write edit add insert delete remove set update append replace format merge apply move rename modify change create fill ' +
    'clear sort transform protect unprotect patch rotate sign redact fix put restyle populate optimize enhance manage copy ' +
    'prepend overwrite truncate annotate crop resize split',
);
/** What tools do that make a file out of something else. */
const MAKING = words(
  'screenshot pdf snapshot heapsnapshot screencast export save download record recording capture render generate print dump ' +
    'trace take draw plot synthesize backup archive zip pack',
);

export type Doing = 'reads' | 'writes';

/** Whether a tool reads or changes, by its name. */
export function doingByName(toolWords: readonly string[]): Doing | undefined {
  if (toolWords.some((word) => WRITING.has(word))) return 'writes';
  return toolWords.some((word) => READING.has(word)) ? 'reads' : undefined;
}

/** The same; by the first word that is said of it where the name does not tell. */
export function doingOf(toolWords: readonly string[], toolSays: string): Doing | undefined {
  const [first = ''] = wordsOf(toolSays.slice(0, 40));
  return doingByName(toolWords) ?? doingByName([first, first.replace(/s$/, ''), first.replace(/es$/, '')]);
}

/** Whether a tool makes a file out of something that is none: a page, a recording, a table. */
export const makesFiles = (toolWords: readonly string[]): boolean => toolWords.some((word) => MAKING.has(word));
