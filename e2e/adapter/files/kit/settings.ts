import { mounted, merged } from '../../kit/deployment.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

/** What the adapter does to the tools of `file-tools`; tests put other entries in its place. */
export const ENTRIES: readonly JsonObject[] = [
  { type: 'upload_consumer', tools: ['read_file', 'read_maybe'], file_path_argument: 'path' },
  { type: 'upload_consumer', tools: ['read_many'], file_path_argument: 'paths' },
  { type: 'upload_consumer', tools: ['read_nested'], file_path_argument: 'a.files.path' },
  { type: 'upload_consumer', tools: ['read_uri'], file_path_argument: 'uri', uri_prefix: true },
  {
    type: 'artifact_producer',
    tools: ['write_file', 'write_text', 'write_sibling', 'leave', 'swap', 'fail'],
    output_path_argument: 'output_path',
    output_locator: { mode: 'regex' },
  },
  {
    type: 'artifact_producer',
    tools: ['write_elsewhere', 'name_path'],
    output_locator: { mode: 'structured', output_path_key: 'file.path' },
  },
  { type: 'artifact_producer', tools: ['embed', 'write_nothing'], output_locator: { mode: 'embedded' } },
];

/** An adapter before `file-tools` as the server `up`, with downloads, and with nothing that happens by itself. */
export function fileConfig(root: string, toolsUrl: string, changes: JsonObject = {}): JsonObject {
  const quiet = {
    max_start_wait_seconds: 0,
    cleanup_interval_seconds: null,
    shutdown_grace_seconds: 0,
    upstream_ping: { enabled: false },
    allow_artifacts_download: true,
  };
  const servers = [mounted('up', toolsUrl, { adapters: ENTRIES })];
  return merged({ core: quiet, storage: { root }, servers }, changes);
}

/** `changes` for `fileConfig`: other entries in the place of these. */
export const withEntries = (toolsUrl: string, ...adapters: readonly JsonObject[]): JsonObject => ({
  servers: [mounted('up', toolsUrl, { adapters })],
});
