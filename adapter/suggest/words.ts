/** Longer names are no names of people's making. */
const MAX_CHARS = 200;

/** What people write as one word, and read as two. */
const JOINED = /^(file|path|dir|folder)(names?|paths?|path|dir)$/;

/**
 * The words of a name in lower case: `outputFilePath`, `output_file_path` and `output-filepath` have the same. The `s` of a
 * plural is left out where the word is known by its singular: `files` is `file`, `paths` is `path`.
 */
export function wordsOf(name: string): string[] {
  return name
    .slice(0, MAX_CHARS)
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
    .flatMap((word) => JOINED.exec(word)?.slice(1) ?? [word])
    .map((word) => SINGULAR.get(word) ?? word);
}

const SINGULAR = new Map(
  (
    'file path dir folder name uri url document workbook image picture photo video source target destination output input report ' +
    'presentation spreadsheet pdf screenshot template attachment archive'
  )
    .split(' ')
    .map((word) => [`${word}s`, word]),
).set('directories', 'directory');
