import { z } from 'zod';
import { Artifacts } from './artifacts.ts';
import { Core } from './core.ts';
import { adapterRules } from './rules.ts';
import { Files } from './files.ts';
import { ServerConfig } from './server.ts';
import { Sessions } from './sessions.ts';
import { StatePersistence } from './state-persistence.ts';
import { Storage } from './storage.ts';
import { Telemetry } from './telemetry.ts';
import { Uploads } from './uploads.ts';
import { maybeEmpty } from '../values/values.ts';

export type { AdapterEntry, ArtifactProducer, FileTools, UploadConsumer } from './entry.ts';
export type { ServerConfig } from './server.ts';

/**
 * The adapter's configuration file, section by section in the order of its specification (section 2).
 * The output has every default applied; the input is what a user may write, once references are resolved.
 */
export const AdapterConfig = z
  .strictObject({
    core: maybeEmpty(Core.prefault({})).describe('The program itself and its HTTP surface.'),
    telemetry: maybeEmpty(Telemetry.prefault({})).describe('Export of metrics and logs over OTLP.'),
    state_persistence: maybeEmpty(StatePersistence.prefault({})).describe('Where metadata is kept.'),
    storage: maybeEmpty(Storage.prefault({})).describe('Where files are kept.'),
    sessions: maybeEmpty(Sessions.prefault({})).describe('Limits and lifetimes of client sessions.'),
    uploads: maybeEmpty(Uploads.prefault({})).describe('Files that clients upload for tools.'),
    artifacts: maybeEmpty(Artifacts.prefault({})).describe('Files that tools produce for clients.'),
    files: maybeEmpty(Files.prefault({})).describe('(new) How files get into tools and out of them.'),
    servers: z
      .array(ServerConfig, { error: 'a list with at least one server' })
      .min(1, { error: 'a list with at least one server' })
      .describe('The upstream MCP servers. At least one.'),
  })
  // Also when fields are invalid, so that a user sees all problems at once; the rules read the value with care.
  .superRefine(adapterRules, { when: () => true });

export type AdapterConfig = z.output<typeof AdapterConfig>;
export type AdapterConfigInput = z.input<typeof AdapterConfig>;
