import { isFolder } from './path-like.ts';
import type { Subject } from './subject.ts';
import type { FileRole } from './suggestion.ts';
import { doingByName, doingOf, makesFiles } from './verbs.ts';
import { wordsOf } from './words.ts';

/**
 * What an argument that looks like a file is, by what its server says. The first rule that applies decides. Rules that leave
 * an argument out come first, then what is said of the argument itself, then what its tool does.
 */
export interface RoleRule {
  readonly name: string;
  /** For the reader of the suggestion: what the rule went by. */
  readonly because: string;
  /** Null: no file that a client could give or get. */
  readonly role: FileRole | null;
  readonly as?: 'file_uri';
  readonly applies: (subject: Subject) => boolean;
  /** What to look at, where the rule guesses. */
  readonly unsure?: (subject: Subject) => string | undefined;
}

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '));
const some = (words: readonly string[], wanted: ReadonlySet<string>): boolean => words.some((word) => wanted.has(word));
const hasOutput = ({ besides }: Subject): boolean => besides.some((role) => role === 'out' || role === 'out_dir');
const doing = ({ toolWords, toolSays }: Subject): 'reads' | 'writes' | undefined => doingOf(toolWords, toolSays);

const OTHER_PATH = /\b(?:cookie|url|json|xpath|css|route|api|object|dotted|dot|selector|key)[ -]path\b|\bby path\b/i;
/** Last words of names that say something of files and are none. */
const ABOUT = set(
  'type format extension ext size pattern patterns glob globs id ids encoding mode mime content contents prefix suffix filter ' +
    'filters count limit index style mask title label text hash version permissions separator',
);
const WORKING = set('repo repository project workspace cwd root working base');
const REPOSITORY = set('repo repository project workspace');
const FOLDER = set('directory dir folder');
const MANY_FILES =
  /(?:list|search|find|glob|grep)(?:[A-Z_-].*)?(?:files|directories|folders|documents|workbooks|code)/i;
const SEARCHING = set('search find glob grep');
const REMOVING = set('delete remove unlink trash');

const OUTPUT = set('output out dest destination dst export download save result to new');
const SAVES =
  /\bto (?:save|export|download|store|write (?:the )?(?:output|result))\b|\b(?:will|should|to) be (?:saved|written|stored|exported|created|downloaded)\b|\b(?:is|are) (?:saved|written|exported) (?:to|in|as)\b|^save\b|\boutput (?:file|path|location)|\bsaved? (?:as|to|in|into)\b/i;
const REPORTS = /\b(?:reports?|downloads?|exports?|outputs?|results?|generated)\b/i;

const READ_FROM = /\b(?:load|read|restore|import)\w*\b.*\bfrom\b|\binput (?:\w+ )?file\b/i;
const TO_READ =
  /\b(?:to|be) (?:be )?(?:read|load|upload|open|import|attach|convert|analy[sz]e|extract|drop|parse|insert|embed|send|view|inspect|transcribe)(?:ed)?\b/i;

const SOURCE = set('source src input template attachment upload from reference old script');
const PICTURE = set('image picture photo logo icon audio video watermark background media font');
const UPLOADING = set('upload attach send drop share publish');

const DOCUMENT = set(
  'document workbook file presentation pdf spreadsheet image video archive zip docx xlsx pptx report notebook diagram drawing ' +
    'canvas csv markdown',
);
/** What may stand between the verb and the thing: `create_excel_workbook`. */
const KIND = set('new empty blank word excel powerpoint pdf text html svg');
const CREATING = set('create new make generate init initialize');
const CONTENT = /^(?:file_?)?(?:contents?|data|text|body|bytes|markdown|html|code)$|base64/i;
const STORING = set('write save import put create');
const ADDING = set('append insert add edit patch update replace range cell sheet');

/** `create_workbook`, `create_excel_document`; not `create_chart`, which changes a file. */
function createsDocument({ toolWords }: Subject): boolean {
  const verb = toolWords.findIndex((word) => CREATING.has(word));
  if (verb === -1) return false;
  const thing = toolWords.slice(verb + 1).find((word, i, rest) => !KIND.has(word) || i === rest.length - 1);
  return thing !== undefined && DOCUMENT.has(thing);
}

/** Whether the argument is called after what the tool makes or takes: `csv_path` of `export_csv`, `docx` of `pdf_to_docx`. */
function isObject({ words, toolWords, besides }: Subject, verbs: ReadonlySet<string>): boolean {
  const verb = toolWords.findIndex((word) => verbs.has(word));
  if (verb === -1 || besides.length === 0) return false;
  return toolWords.slice(verb + 1).some((word) => words.includes(word) && word !== 'file' && word !== 'path');
}

export const ROLE_RULES: readonly RoleRule[] = [
  {
    name: 'other-path',
    because: 'it is the path of a cookie, a URL or a key',
    role: null,
    applies: ({ says, toolWords }) => OTHER_PATH.test(says) || toolWords.includes('cookie'),
  },
  {
    name: 'about-files',
    because: 'it says something of files and is none',
    role: null,
    applies: ({ words, says }) => ABOUT.has(words.at(-1) ?? '') || /\bmetadata only\b/i.test(says),
  },
  {
    name: 'working-folder',
    because: 'it is a folder that the tool works in',
    role: null,
    applies: ({ words }) => some(words, WORKING),
  },
  {
    name: 'in-working-folder',
    because: 'it is in the folder that the tool works in',
    role: null,
    applies: ({ others }) => others.map(wordsOf).some((other) => some(other, REPOSITORY) && other.includes('path')),
  },
  {
    name: 'folder-tool',
    because: 'the tool lists or makes folders',
    role: null,
    applies: ({ toolWords }) => some(toolWords, FOLDER),
  },
  {
    name: 'many-files',
    because: 'the tool looks for files in a folder',
    role: null,
    applies: ({ tool, toolWords, words, others }) =>
      (some(words, FOLDER) || words.includes('path')) &&
      (MANY_FILES.test(tool) || (some(toolWords, SEARCHING) && others.some((key) => wordsOf(key).includes('pattern')))),
  },
  {
    name: 'removes-file',
    because: 'the tool removes the file, and there is nothing to give or to get',
    role: null,
    applies: ({ toolWords, words }) =>
      some(toolWords, REMOVING) && toolWords.at(-1) === 'file' && (words.includes('path') || words.includes('file')),
  },
  {
    name: 'name-in-folder',
    because: 'it is a name in the folder that another argument names',
    role: null,
    applies: ({ words, besides }) => words.at(-1) === 'name' && besides.includes('out_dir'),
  },
  {
    name: 'no-file-uri',
    because: 'nothing says that the URI may be one of a file (file:)',
    role: null,
    applies: ({ words, says, toolSays }) =>
      (words.includes('uri') || words.includes('url')) && !/\bfile:/i.test(`${says} ${toolSays}`),
  },
  {
    name: 'folder-to-write',
    because: 'it is a folder that the tool writes to',
    role: 'out_dir',
    applies: ({ words, says, toolWords }) =>
      isFolder(words, says) &&
      (some(words, OUTPUT) ||
        SAVES.test(says) ||
        REPORTS.test(says) ||
        REPORTS.test(words.join(' ')) ||
        makesFiles(toolWords)),
  },
  {
    name: 'folder',
    because: 'it is a folder to read or to work in',
    role: null,
    applies: ({ words, says }) => isFolder(words, says),
  },
  {
    name: 'output-name',
    because: 'the argument is named after an output',
    role: 'out',
    applies: ({ words }) => some(words, OUTPUT),
  },
  {
    name: 'says-saved',
    because: 'its description says that something is saved there',
    role: 'out',
    applies: ({ says }) => SAVES.test(says),
  },
  {
    name: 'file-uri',
    because: 'it is a URI, and file: is among those that are taken',
    role: 'in',
    as: 'file_uri',
    applies: ({ words }) => words.includes('uri') || words.includes('url'),
  },
  {
    name: 'says-read',
    because: 'its description says that something is read from there',
    role: 'in',
    applies: ({ says }) => READ_FROM.test(says),
  },
  {
    name: 'named-after-product',
    because: 'it is named after what the tool makes',
    role: 'out',
    applies: (subject) => isObject(subject, set('export save render to')),
  },
  {
    name: 'named-after-object',
    because: 'it is named after what the tool takes',
    role: 'in',
    applies: (subject) => isObject(subject, set('import insert add load attach embed place convert')),
  },
  {
    name: 'source-name',
    because: 'the argument is named after an input',
    role: 'in',
    applies: ({ words }) => some(words, SOURCE),
  },
  {
    name: 'picture-beside',
    because: 'it is a picture or the like that goes into the other file',
    role: 'in',
    applies: ({ argument, words, besides }) =>
      some(words, PICTURE) && (besides.length > 0 || argument.path.includes('[].')),
  },
  {
    name: 'may-append',
    because: 'the tool writes the file anew or adds to it',
    role: 'edit',
    applies: ({ toolWords, toolSays, others }) =>
      toolWords.includes('write') &&
      toolWords.includes('file') &&
      (others.some((key) => /^(?:mode|append)$/i.test(key)) || /\bappend/i.test(toolSays)),
    unsure: () => 'if it also makes new files, write { role: edit, create: true }',
  },
  {
    name: 'content-beside',
    because: 'the content is another argument, and the tool writes it there',
    role: 'out',
    applies: ({ toolWords, others, besides }) =>
      besides.length === 0 &&
      some(toolWords, STORING) &&
      some(toolWords, DOCUMENT) &&
      !some(toolWords, ADDING) &&
      others.some((key) => CONTENT.test(key)),
  },
  {
    name: 'creates-document',
    because: 'the tool creates the file',
    role: 'out',
    applies: (subject) => createsDocument(subject) && !hasOutput(subject),
  },
  {
    name: 'makes-file',
    because: 'the tool makes a file, and this is the only path',
    role: 'out',
    applies: ({ toolWords, besides, readOnly }) =>
      makesFiles(toolWords) && doingByName(toolWords) === undefined && besides.length === 0 && readOnly !== true,
    unsure: ({ argument }) =>
      argument.isRequired ? 'it may be the file that the tool reads; then write in' : undefined,
  },
  {
    name: 'read-only-hint',
    because: 'the tool says that it changes nothing (readOnlyHint)',
    role: 'in',
    applies: ({ readOnly }) => readOnly === true,
  },
  {
    name: 'uploads',
    because: 'the tool hands files on',
    role: 'in',
    applies: ({ toolWords }) => some(toolWords, UPLOADING),
  },
  {
    name: 'beside-output',
    because: 'the result goes to another path',
    role: 'in',
    applies: hasOutput,
    unsure: (subject) =>
      doing(subject) === 'writes' ? 'without the other path the tool may change this file itself' : undefined,
  },
  {
    name: 'reading-verb',
    because: 'the tool reads by its name',
    role: 'in',
    applies: (subject) => doing(subject) === 'reads',
    unsure: ({ readOnly }) =>
      readOnly === false ? 'the tool says of itself that it may change something (readOnlyHint: false)' : undefined,
  },
  {
    name: 'says-input',
    because: 'its description says what it is read for',
    role: 'in',
    applies: (subject) => TO_READ.test(subject.says) && (subject.besides.length > 0 || doing(subject) !== 'writes'),
    unsure: () => 'if the tool changes it, write edit',
  },
  {
    name: 'writes',
    because: 'the tool changes something, and this is its file',
    role: 'edit',
    applies: (subject) => subject.readOnly === false || doing(subject) === 'writes',
  },
  {
    name: 'nothing-known',
    because: 'nothing says whether the tool changes it',
    role: 'edit',
    applies: () => true,
    unsure: () => 'if the tool only reads it, write in',
  },
];
