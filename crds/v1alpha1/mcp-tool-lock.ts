import { z } from 'zod';
import { LockDocument } from '../config/lock-file/lock-document.ts';
import { objectName } from './api.ts';
import { Condition } from './conditions.ts';

/** What a user writes: whose lock it is, and the document as it would stand in a file. */
export const McpToolLockSpec = LockDocument.extend({
  adapterRef: z
    .strictObject({ name: objectName().describe('Name of the McpAdapter, in the same namespace.') })
    .describe('The adapter whose servers it is about. Where several locks name one adapter, the oldest is in force.'),
});

/** Of what differs, so many stand in the status. */
export const MAX_PENDING = 100;

const PendingDefinition = z.strictObject({
  server: z.string().describe('Id of the server.'),
  kind: z
    .string()
    .optional()
    .describe('What it is, where pods tell: `tools`, `prompts`, `resourceTemplates` or `instructions`.'),
  name: z.string().describe('Its name, with escapes for what one cannot see; empty for instructions.'),
  state: z
    .enum(['drift', 'new', 'removed'])
    .describe(
      '`drift`: it is not what was approved. `new`: the lock does not name it. `removed`: only the lock has it.',
    ),
  fields: z.array(z.string()).optional().describe('Fields that differ, of what drifts.'),
});
export type PendingDefinition = z.output<typeof PendingDefinition>;

const count = (what: string) => z.int().min(0).optional().describe(what);

export const McpToolLockStatus = z.strictObject({
  observedGeneration: z.int().optional().describe('Generation of the spec that this status is about.'),
  conditions: z.array(Condition).optional().describe('What holds, and why.'),
  adapters: z.array(z.string()).optional().describe('Names of the adapters that use it.'),
  digest: z.string().optional().describe('Of the document as pods get it: the start of its SHA-256, in hexadecimal.'),
  lastCompared: z.iso
    .datetime()
    .optional()
    .describe('When pods compared their servers with it and the outcome was another than before.'),
  drifted: count('Definitions that are not what was approved.'),
  added: count('Definitions that the lock does not name.'),
  removed: count('Definitions that only the lock has.'),
  pending: z
    .array(PendingDefinition)
    .optional()
    .describe(`What waits for approval, at most ${MAX_PENDING} of it; the numbers count all.`),
});
export type McpToolLockStatus = z.output<typeof McpToolLockStatus>;
