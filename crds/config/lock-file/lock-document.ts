import { z } from 'zod';
import { oneOf } from '../values/values.ts';

/** The document of a tool lock: what tools, prompts, resource templates and instructions of each server are. */

/** Of each kind, for each server: more serve no model, and a lock must fit into one object of Kubernetes. */
export const MAX_LOCKED = 1000;
export const MAX_LOCKED_SERVERS = 200;
/** Characters of a name, or of a URI template. */
export const MAX_NAME_CHARS = 1024;

const DIGEST = 'sha256: and 64 hexadecimal digits in lower case';
const Digest = z.string({ error: DIGEST }).regex(/^sha256:[0-9a-f]{64}$/, { error: DIGEST });

/** A digest for each of these members, where the definition has it; `other` for all that are not named. */
const fieldsOf = <const T extends string>(...names: readonly T[]) =>
  z.strictObject(
    Object.fromEntries(names.map((name) => [name, Digest.optional().describe(`Digest of its \`${name}\`.`)])) as Record<
      T,
      z.ZodOptional<typeof Digest>
    >,
  );

const entryOf = <T extends z.ZodType>(fields: T) =>
  z.strictObject({
    digest: Digest.describe('SHA-256 of the RFC 8785 text of the whole definition. It decides.'),
    fields: fields.describe(
      'The same of each member, which tells what has changed; `other` is an object of the others.',
    ),
  });

const TOOL = ['title', 'description', 'inputSchema', 'outputSchema', 'annotations', 'icons', '_meta', 'other'] as const;
const PROMPT = ['title', 'description', 'arguments', 'icons', '_meta', 'other'] as const;
const TEMPLATE = ['name', 'title', 'description', 'mimeType', 'annotations', 'icons', '_meta', 'other'] as const;

const named = <T extends z.ZodType>(entry: T, what: string) => {
  const name = `${what} of 1 to ${MAX_NAME_CHARS} characters`;
  const error = `a mapping of at most ${MAX_LOCKED} entries`;
  return z
    .record(z.string().min(1, { error: name }).max(MAX_NAME_CHARS, { error: name }), entry, { error })
    .refine((entries) => Object.keys(entries).length <= MAX_LOCKED, { error })
    .prefault({});
};

const ServerLock = z.strictObject({
  tools: named(entryOf(fieldsOf(...TOOL)), 'a name').describe('The tools that were approved, by name.'),
  prompts: named(entryOf(fieldsOf(...PROMPT)), 'a name').describe('The prompts, by name.'),
  resourceTemplates: named(entryOf(fieldsOf(...TEMPLATE)), 'a URI template').describe(
    'The resource templates, by `uriTemplate`.',
  ),
  instructions: Digest.optional().describe('Digest of what the server says of itself; missing where it says nothing.'),
});
export type ServerLock = z.output<typeof ServerLock>;

const SERVERS = `a mapping of at most ${MAX_LOCKED_SERVERS} servers`;

export const LockDocument = z.strictObject({
  mode: oneOf(['audit', 'enforce'])
    .describe('What becomes of definitions that differ: `audit` marks them, `enforce` hides them.')
    .prefault('enforce'),
  newTools: oneOf(['hide', 'allow'])
    .describe('What becomes of definitions that the lock does not name, and of servers that it does not name.')
    .prefault('hide'),
  servers: z
    .record(z.string().min(1).max(MAX_NAME_CHARS), ServerLock, { error: SERVERS })
    .refine((servers) => Object.keys(servers).length <= MAX_LOCKED_SERVERS, { error: SERVERS })
    .prefault({})
    .describe('What was approved, by the id of the server.'),
});
export type LockDocument = z.output<typeof LockDocument>;

/** A digest of the whole, and of each field that is there. */
export interface LockEntry {
  readonly digest: string;
  readonly fields: Readonly<Partial<Record<string, string>>>;
}

/** The kinds of definitions that a lock knows. */
export type LockKind = 'tools' | 'prompts' | 'resourceTemplates';

interface KindOfDefinition {
  /** The member that names a definition. */
  readonly id: string;
  readonly fields: readonly string[];
}

export const LOCK_KINDS: Readonly<Record<LockKind, KindOfDefinition>> = {
  tools: { id: 'name', fields: TOOL },
  prompts: { id: 'name', fields: PROMPT },
  resourceTemplates: { id: 'uriTemplate', fields: TEMPLATE },
};
