import { effectiveServer } from '../../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../../crds/config/testing/adapter-config.ts';
import { disabledTools } from '../../catalog/disabled-tools.ts';
import { FakeUpstream } from '../../exchange/testing/fake-upstream.ts';
import { createRedaction } from '../../../lib/redaction/redact.ts';
import { createMount, type MountOptions } from '../../mount/create-mount.ts';
import type { Mount } from '../../mount/mount.ts';
import { sampleCaches } from '../../testing/sample-caches.ts';

/** A mount as the adapter makes it from a file, before an upstream that does nothing by itself. */
export function sampleMount(server: Record<string, unknown> = {}, options: Partial<MountOptions> = {}): Mount {
  const upstream = { url: 'http://upstream:1/mcp', ...(server['upstream'] as object | undefined) };
  const config = load({ servers: [{ id: 's1', mount_path: '/s1', ...server, upstream }] });
  const [first] = config.servers;
  if (first === undefined) throw new Error('no server');
  const effective = effectiveServer(config, first);
  return createMount({
    server: effective,
    disabled: disabledTools(effective.disabled_tools),
    upstream: new FakeUpstream(),
    authHeader: 'X-Mcp-Adapter-Auth-Token',
    listTtlMs: 60_000,
    caches: sampleCaches(),
    version: '1.2.3',
    redact: createRedaction().text,
    warn: () => {},
    onPing: () => {},
    ...options,
  });
}
