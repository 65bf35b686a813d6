import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningAdapter, startAdapter } from '../../../support/adapter-process.ts';
import { freePort } from '../../../support/ports.ts';
import type { RedisServer } from '../../../support/redis.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { type ScriptedUpstream, startScriptedUpstream } from '../../../support/scripted-upstream/scripted-upstream.ts';
import { secret } from '../../../support/secrets/secret.ts';
import { startNewerServer } from '../../bridge/kit/newer-server.ts';
import { accessTo, mounted } from '../../kit/deployment.ts';

const TOKEN = secret('token of the clients');
export const AUTHORIZED = { 'x-mcp-adapter-auth-token': TOKEN };
/** What the tool `embed` gives to the client. */
/** What code returns that is too long. */
export const LONG_CHARS = 5_000;
export const PICTURE = Buffer.from('bytes of a picture');
/** Messages that reach no client, by the reason: what the tool `odd` sends before its answer. */
export const DROPPED = {
  malformed: 'no JSON',
  member: '{"jsonrpc":"2.0","method":"notifications/message","method":"notifications/progress"}',
  kind: '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
};
/** Time limit of tool calls of one server, and how long uploads are kept. */
const SHORT_SECONDS = 0.5;

/** An adapter with everything that can be observed, and the upstream before which it stands. */
export interface Watched extends AsyncDisposable {
  readonly adapter: RunningAdapter;
  readonly upstream: ScriptedUpstream;
}

/**
 * Servers: `up`, with wrapped tools; `hurried`, with a time limit; `code`, in code mode; `newer`, without sessions; `down`, which nobody serves. What happens by itself
 * happens within a second.
 *
 * @param telemetry the section of that name
 */
export async function startWatched(
  telemetry: JsonObject,
  redis: RedisServer,
  env: NodeJS.ProcessEnv = {},
): Promise<Watched> {
  await using started = new AsyncDisposableStack();
  const upstream = started.use(await startScriptedUpstream());
  upstream.tools.set('fails', {
    definition: { description: 'Fails', inputSchema: { type: 'object' } },
    call: () => ({ content: [{ type: 'text', text: 'It failed.' }], isError: true }),
  });
  upstream.tools.set('embed', {
    definition: { description: 'Gives bytes', inputSchema: { type: 'object' } },
    call: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: PICTURE.toString('base64') }] }),
  });
  upstream.tools.set('odd', {
    definition: { description: 'Sends what no client may get', inputSchema: { type: 'object' } },
    call(call) {
      for (const message of Object.values(DROPPED)) call.stream().send(message);
      return { content: [] };
    },
  });
  const newer = started.use(await startNewerServer());
  const root = await mkdtemp(join(tmpdir(), 'watched-'));
  started.defer(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
  // Nothing of the server is what was approved; nothing is hidden for it.
  const lock = join(root, 'lock.json');
  const approved = { echo: { digest: `sha256:${'0'.repeat(64)}`, fields: {} } };
  await writeFile(lock, JSON.stringify({ mode: 'audit', servers: { hurried: { tools: approved } } }));
  const adapters = [
    { type: 'upload_consumer', tools: ['read'], file_path_argument: 'path' },
    { type: 'artifact_producer', tools: ['embed'], output_locator: { mode: 'embedded' } },
  ];
  const config = {
    core: {
      log_level: 'info',
      max_start_wait_seconds: 0,
      shutdown_grace_seconds: 0,
      cleanup_interval_seconds: 0.3,
      // Lists are asked for again, so that a change is seen at once.
      upstream_metadata_cache_ttl_seconds: 0,
      auth: { enabled: true, token: TOKEN },
      tool_lock: { path: lock },
      allow_artifacts_download: true,
      upstream_ping: { interval_seconds: 0.3, failure_threshold: 2 },
    },
    sessions: { max_in_flight_per_session: 1 },
    uploads: { ttl_seconds: SHORT_SECONDS },
    artifacts: { max_per_session: 1 },
    storage: { root },
    state_persistence: {
      type: 'redis',
      redis: { ...accessTo(redis), key_base: root, ping_seconds: 0.3 },
    },
    servers: [
      mounted('up', upstream.url, { adapters }),
      mounted('hurried', upstream.url, {
        tool_defaults: { tool_call_timeout_seconds: SHORT_SECONDS },
        limits: [{ per: 'tool', rate: '1/h' }],
      }),
      mounted('code', upstream.url, { code_mode_enabled: true, results: { spill_over_chars: LONG_CHARS - 1 } }),
      mounted('newer', newer.url),
      mounted('down', `http://127.0.0.1:${await freePort()}/mcp`),
    ],
    telemetry,
  };
  const adapter = started.use(await startAdapter({ config, env }));
  const stack = started.move();
  return { adapter, upstream, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
