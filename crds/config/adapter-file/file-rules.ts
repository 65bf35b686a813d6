import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import {
  flag,
  integer,
  listOf,
  maybeEmpty,
  nonBlank,
  oneOf,
  orNull,
  trimmedAnd,
  trimmedOrNull,
} from '../values/values.ts';

/**
 * What entries of type `files` (`servers[].adapters`) say of the arguments and results of tools: which arguments are files,
 * what becomes of them, and which files a tool makes on its own.
 */

const MAX_ARGUMENTS = 100;
const MAX_FOUND = 20;
const MAX_PATH_CHARS = 512;

/** Keys of an argument; `[]` after a key says for readers that it holds a list. */
export const argumentKeys = (path: string): string[] =>
  path.split('.').map((key) => key.replace(/(?:\[\])+$/, '').trim());

const isArgument = (path: string): boolean =>
  path.length <= MAX_PATH_CHARS && argumentKeys(path).every((key) => key !== '' && !key.includes('['));

const ARGUMENT = 'the name of an argument, or a path such as a.b or list[].path';

/** Whether it is an absolute path that cannot lead out of its folder. */
export const isAbsolute = (path: string): boolean => path.startsWith('/') && !path.split('/').includes('..');

export const FILE_ROLES = ['in', 'out', 'edit', 'out_dir'] as const;

const Argument = z.strictObject({
  role: oneOf(FILE_ROLES),
  as: oneOf(['path', 'file_uri', 'url']).prefault('path'),
  max_bytes: orNull(bytes({ min: 1 })).prefault(null),
  max_files: integer({ min: 1, max: 10_000 }).prefault(100),
  create: flag().prefault(false),
});
export type FileArgument = z.output<typeof Argument>;

const roleAlone = (value: unknown): unknown => (typeof value === 'string' ? { role: value.trim() } : value);

export const FileArguments = maybeEmpty(
  z
    .record(z.string().refine(isArgument, { error: ARGUMENT }), z.unknown().transform(roleAlone).pipe(Argument), {
      error: ({ code }) => (code === 'invalid_key' ? ARGUMENT : 'a map from arguments to their roles'),
    })
    .refine((all) => Object.keys(all).length <= MAX_ARGUMENTS, { error: `a map of at most ${MAX_ARGUMENTS} arguments` })
    .prefault({}),
).describe(
  'What becomes of the arguments that are files, by their names or paths such as `a.b` and `list[].path`. `in`: a handle ' +
    'becomes the path of a copy to read. `out`: the path that the tool writes to; the file becomes an artifact. `edit`: a handle ' +
    'becomes a path that the tool changes; what it leaves there is the next version of the same artifact. `out_dir`: an empty ' +
    'folder; every file in it afterwards becomes an artifact. Or a mapping: `role`, `as` (`path`, `file_uri`, `url`), ' +
    '`max_bytes` and `max_files` (of an `out_dir`: 100 MiB, 100), and `create` (an `edit` of a file that does not exist yet makes it).',
);
export type FileArguments = z.output<typeof FileArguments>;

const Found = z.strictObject({
  pattern: nonBlank('a regular expression')
    .describe(
      'Regular expression (RE2) for the text of the result; the first group is the path. Either this or `path_key`.',
    )
    .nullable()
    .prefault(null),
  path_key: trimmedOrNull('the path of a key such as a.b, or null', (path) =>
    argumentKeys(path).every((key) => key !== ''),
  )
    .describe('Path of the key in the structured content that holds the path or a list of paths.')
    .prefault(null),
  relative_to: trimmedAnd('an absolute path without ..', isAbsolute).describe(
    'Folder that relative paths start from, as the adapter sees it. Files outside of it are not taken.',
  ),
  take: oneOf(['move', 'copy'])
    .describe('`move`: the file is removed from the folder once it is an artifact. `copy`: it stays there.')
    .prefault('copy'),
});
export type FoundFiles = z.output<typeof Found>;

export const FoundList = maybeEmpty(
  listOf(Found, 'a list of patterns and keys')
    .max(MAX_FOUND, { error: `a list of at most ${MAX_FOUND} patterns and keys` })
    .prefault([]),
).describe(
  'Files that tools name in their results and that nobody gave them a path for; all of them become artifacts.',
);
