import { z } from 'zod';
import { integer, maybeEmpty, oneOf } from '../values/values.ts';
import { inherit } from './inherit.ts';

/** Sections `results` of `core` and `servers[]`: results that are too long for a model become artifacts. */

/** Each may be compared with the name of a tool. */
const MAX_TOOLS = 200;
const MAX_CHARS = 256;
/** Beyond it nobody reads a result, whatever it is. */
const LONGEST = 100_000_000;
const LONGEST_PREVIEW = 100_000;

export const ResultSettings = z.strictObject({
  spill_over_chars: integer({ min: 0, max: LONGEST })
    .describe(
      'Characters (UTF-16 code units) that the text of a successful tool result may have. Of a longer one the longest ' +
        'texts become artifacts, and the result keeps a preview of each with a link; `<server_id>_read_artifact` reads ' +
        'the rest. 40000 is a good value. 0: results pass whatever their length.',
    )
    .prefault(0),
  preview_chars: integer({ min: 100, max: LONGEST_PREVIEW })
    .describe('Characters of the text that stay in the result: three quarters from its beginning, one from its end.')
    .prefault(2000),
  structured: oneOf(['keep', 'drop'])
    .describe(
      'Structured content of tools that declare an output schema. `keep`: it stays, because it must conform; only its copy ' +
        'as text becomes an artifact. `drop`: the schema is not shown to clients, and the content is treated as text.',
    )
    .prefault('keep'),
});
export type ResultSettings = z.output<typeof ResultSettings>;

const toolName = `the name of a tool, in which * stands for any characters, of at most ${MAX_CHARS} characters`;

/** The same for one server, and for some of its tools. */
export const ServerResults = inherit(ResultSettings, 'core.results').extend({
  tools: maybeEmpty(
    z
      .record(
        z.string({ error: toolName }).regex(/\S/, { error: toolName }).max(MAX_CHARS, { error: toolName }),
        inherit(ResultSettings, 'servers[].results'),
        { error: 'a map from names of tools to their settings' },
      )
      .refine((tools) => Object.keys(tools).length <= MAX_TOOLS, { error: `a map of at most ${MAX_TOOLS} tools` })
      .prefault({}),
  ).describe(
    'Settings of single tools, by their names, in which `*` stands for any characters. The exact name counts first, then the ' +
      'first pattern that fits.',
  ),
});
export type ServerResults = z.output<typeof ServerResults>;
