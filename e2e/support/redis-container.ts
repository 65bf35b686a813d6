import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { userInfo } from 'node:os';
import { GenericContainer, getContainerRuntimeClient } from 'testcontainers';
import type { LaunchRedis } from './launch-redis.ts';

const IMAGE = 'redis:7-alpine';

/** Runs redis-server in containers that share one folder with the host. Rejects when there is no container runtime. */
export async function createContainerLauncher(): Promise<LaunchRedis> {
  const client = await getContainerRuntimeClient();
  return async ({ folder, port, settings }) => {
    // The container's own network ends at its published port, so Redis must listen on all of its addresses.
    const place = ['bind 0.0.0.0', 'protected-mode no', `port ${port}`, `dir ${folder}`];
    const file = join(folder, 'redis.conf');
    await writeFile(file, [...place, ...settings, ''].join('\n'));
    const { uid, gid } = userInfo();
    const container = await new GenericContainer(IMAGE)
      .withUser(`${uid}:${gid}`) // so that the host's user may delete the files
      .withBindMounts([{ source: folder, target: folder }])
      .withExposedPorts({ container: port, host: port })
      .withCommand(['redis-server', file])
      .start();
    return {
      async signal(signal) {
        if (signal === 'SIGTERM') await container.stop({ timeout: 10_000, remove: true });
        else await client.container.getById(container.getId()).kill({ signal });
        if (signal === 'SIGKILL') await container.stop({ remove: true });
      },
    };
  };
}
