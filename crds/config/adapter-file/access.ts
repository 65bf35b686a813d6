import { z } from 'zod';
import { listOf, maybeEmpty, oneOf } from '../values/values.ts';

/** Sections `access` of `core` and `servers[]`: who may do what. */

/** Each rule is looked at for each caller, and each text may be compared with each name. */
const MAX_RULES = 100;
const MAX_ENTRIES = 100;
const MAX_CHARS = 256;

const entry = (allowed: string) =>
  z.string({ error: allowed }).regex(/\S/, { error: allowed }).max(MAX_CHARS, { error: allowed });

const PRINCIPAL = 'user:<subject>, client:<id>, token:<name> or *, of at most 256 characters';
/** A subject may look like the name of a token. */
const principal = z
  .string({ error: PRINCIPAL })
  .regex(/^(\*$|user:|client:|token:)/, { error: PRINCIPAL })
  .max(MAX_CHARS, { error: PRINCIPAL });

const entries = (what: string, one = entry(`a non-blank string of at most ${MAX_CHARS} characters`)) =>
  listOf(one, `a list of ${what}`)
    .min(1, { error: `a list of at least one of ${what}` })
    .max(MAX_ENTRIES, { error: `a list of at most ${MAX_ENTRIES} of ${what}` })
    .nullable()
    .prefault(null);

const AccessRule = z.strictObject({
  effect: oneOf(['allow', 'deny']).describe('What follows when everything else in this rule matches.'),
  principals: entries('principals', principal).describe(
    'Callers: `user:<subject>`, `client:<id>`, `token:<name>`; `*` stands for any characters. Null: everybody.',
  ),
  scopes: entries('scopes').describe(
    'The token has one of these. Where that is all that an `allow` lacks, the call is answered with 403 ' +
      '`insufficient_scope`, which names the scope. Null: any token.',
  ),
  claims: z
    .record(
      entry('the name of a claim'),
      listOf(entry('a non-blank string'), 'a list of values')
        .min(1, { error: 'a list of at least one value' })
        .max(MAX_ENTRIES, { error: `a list of at most ${MAX_ENTRIES} values` }),
      { error: 'a map from claims to lists of values' },
    )
    .nullable()
    .prefault(null)
    .describe(
      'For each claim of the token, values of which it has one: `{ groups: [support] }`. Names parted by dots lead into ' +
        'objects (`realm_access.roles`). Null: any token.',
    ),
  tools: entries('tools').describe(
    'Tools that are called; `*` stands for any characters. Null: whatever is asked for.',
  ),
  methods: entries('methods').describe(
    'Methods: `tools/call`, `resources/read`, `prompts/get`, `files/upload`, `files/download`, or others of the protocol; ' +
      '`*` stands for any characters. Null: the five, and methods that the protocol does not know.',
  ),
  resources: entries('resources').describe(
    'URIs of resources, or templates as they are listed; `*` stands for any characters. Null: whatever is asked for.',
  ),
  prompts: entries('prompts').describe('Prompts; `*` stands for any characters. Null: whatever is asked for.'),
});
export type AccessRule = z.output<typeof AccessRule>;

export const AccessConfig = z.strictObject({
  default: oneOf(['allow', 'deny']).describe('What holds where no rule matches.').prefault('allow'),
  rules: maybeEmpty(
    z
      .array(AccessRule, { error: 'a list of rules' })
      .max(MAX_RULES, { error: `a list of at most ${MAX_RULES} rules` })
      .prefault([]),
  ).describe('The first rule that matches decides. Everything that a rule names must match, and of a list one entry.'),
});
export type AccessConfig = z.output<typeof AccessConfig>;
