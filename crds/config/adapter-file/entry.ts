import { z } from 'zod';
import { uriScheme } from '../values/network-values.ts';
import { FileArguments, FoundList } from './file-rules.ts';
import { ToolDefaults } from './core.ts';
import { inherit } from './inherit.ts';
import {
  flag,
  listOf,
  maybeEmpty,
  nonBlank,
  oneOf,
  orNull,
  trimmed,
  trimmedAnd,
  trimmedOrNull,
} from '../values/values.ts';

/**
 * Entries of `servers[].adapters`: what the adapter does to the calls of named tools.
 * Source: adapter specification, section 2.8.
 */

const isDotPath = (path: string): boolean => path.split('.').every((key) => key.trim() !== '');

const MAX_KINDS = 50;
const isKindOfFile = (kind: string): boolean => /^(?:\.[\w-]{1,32}|[\w.+-]{1,64}\/(?:\*|[\w.+-]{1,127}))$/.test(kind);

const tools = listOf(trimmed('the exact name of a tool'), 'a list with the name of at least one tool')
  .min(1, { error: 'a list with the name of at least one tool' })
  .describe('Exact names of the tools. A tool that stands in several entries belongs to the first.');

const overrides = maybeEmpty(inherit(ToolDefaults, 'servers[].tool_defaults').prefault({})).describe(
  'Settings of calls to these tools only.',
);

export const UploadConsumer = z.strictObject({
  type: z.literal('upload_consumer').describe('`upload_consumer`: tools that take uploaded files.'),
  tools,
  file_path_argument: trimmedAnd('the name of an argument, or a path such as a.b', isDotPath).describe(
    'Argument that holds the upload handle or a list of handles; a path such as `a.b` for nested objects.',
  ),
  uri_scheme: uriScheme()
    .describe('Start of the handles that are replaced. Must be the same as `uploads.uri_scheme`.')
    .prefault('upload://'),
  uri_prefix: orNull(
    flag().describe('Pass `file://` URIs to the upstream. When false or null, absolute paths.'),
  ).prefault(null),
  pass_as: oneOf(['path', 'file_uri', 'url'])
    .describe(
      '(new) What the tool gets: `path`, an absolute path; `file_uri`, a `file://` URI; `url`, a presigned URL for tools ' +
        'that share no folder with the adapter (needs `storage.s3`). Null: `uri_prefix` decides.',
    )
    .nullable()
    .prefault(null),
  accept: listOf(
    trimmedAnd('a media type such as image/png or image/*, or an extension such as .pdf', isKindOfFile),
    'a list of media types and extensions',
  )
    .min(1, { error: 'a list of at least one media type or extension' })
    .max(MAX_KINDS, { error: `a list of at most ${MAX_KINDS} media types and extensions` })
    .nullable()
    .prefault(null)
    .describe(
      '(new) Files that the argument takes: `image/*`, `application/pdf`, `.csv`; others are refused. Null: any.',
    ),
  overrides,
});
export type UploadConsumer = z.output<typeof UploadConsumer>;

const OutputLocator = z.strictObject({
  mode: oneOf(['structured', 'regex', 'embedded', 'none'])
    .describe(
      'How the file is found when no output path was injected or the tool ignored it: `structured` at a key of the ' +
        'structured content, `regex` in the text, `embedded` as bytes in the result, `none` not at all.',
    )
    .prefault('none'),
  output_path_key: trimmedOrNull('the path of a key such as a.b, or null', (path) => path === '' || isDotPath(path))
    .describe(
      'Path of the key in the structured content that holds the file path. Required with mode `structured` when ' +
        '`output_path_argument` is null.',
    )
    .prefault(null),
  output_path_regexes: maybeEmpty(
    listOf(nonBlank('a regular expression'), 'a list of regular expressions').prefault([]),
  ).describe(
    'Regular expressions for the text of the result, tried in order. The first group counts if there is one. Empty: ' +
      'built-in patterns for paths.',
  ),
});

export const ArtifactProducer = z
  .strictObject({
    type: z.literal('artifact_producer').describe('`artifact_producer`: tools that produce files.'),
    tools,
    output_path_argument: trimmed('the name of an argument, or null')
      .describe('Argument that takes the path to write to; the adapter fills it in. Null: the tool takes none.')
      .nullable()
      .prefault(null),
    output_locator: maybeEmpty(OutputLocator.prefault({})).describe('How the produced file is found in the result.'),
    persist: flag().describe('Store the file. When false, the result is returned as it is.').prefault(true),
    expose_as_resource: orNull(
      flag().describe('Offer these artifacts as MCP resources. Null: `artifacts.expose_as_resources` decides.'),
    ).prefault(null),
    allow_raw_output: orNull(
      flag().describe(
        'Put the bytes of the file (base64) into the result as well. Null: `overrides.allow_raw_output` decides.',
      ),
    ).prefault(null),
    include_raw_output: orNull(flag().describe('Old name of `allow_raw_output`.')).prefault(null),
    overrides,
  })
  .transform(({ include_raw_output: alias, ...entry }, context) => {
    if (alias !== null && entry.allow_raw_output !== null && alias !== entry.allow_raw_output) {
      context.issues.push({
        code: 'custom',
        input: alias,
        path: ['include_raw_output'],
        message: 'contradicts allow_raw_output, of which it is the old name; remove one of them',
        params: { rule: true },
      });
    }
    return { ...entry, allow_raw_output: entry.allow_raw_output ?? alias };
  });
export type ArtifactProducer = z.output<typeof ArtifactProducer>;

export const FileTools = z.strictObject({
  type: z
    .literal('files')
    .describe('`files`: (new) tools that read, write and change files, by the roles of their arguments.'),
  tools: listOf(trimmed('the name of a tool'), 'a list with the name of at least one tool')
    .min(1, { error: 'a list with the name of at least one tool' })
    .describe(
      'Of an entry of type `files` also patterns, in which `*` stands for any characters. Every matching entry of this type ' +
        'counts; of two that name the same argument the first does.',
    ),
  arguments: FileArguments,
  found: FoundList,
});
export type FileTools = z.output<typeof FileTools>;

export const AdapterEntry = z.discriminatedUnion('type', [UploadConsumer, ArtifactProducer, FileTools], {
  error: ({ code }) =>
    code === 'invalid_union'
      ? 'one of upload_consumer, artifact_producer, files'
      : 'a mapping with type upload_consumer, artifact_producer or files',
});
export type AdapterEntry = z.output<typeof AdapterEntry>;
