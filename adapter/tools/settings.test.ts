import { describe, expect, test } from 'vitest';

import { effectiveServer, type EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { load } from '../../crds/config/testing/adapter-config.ts';
import { toolTimeouts } from './settings.ts';

/** Seconds at the three levels; undefined is left out of the file. */
interface Levels {
  readonly core?: number | null;
  readonly server?: number | null;
  readonly adapter?: number | null;
}

function server({ core, server: own, adapter }: Levels, more: object[] = []): EffectiveServer {
  const timeout = (value: number | null | undefined): object =>
    value === undefined ? {} : { tool_call_timeout_seconds: value };
  const config = load({
    core: { defaults: timeout(core) },
    servers: [
      {
        id: 's1',
        mount_path: '/s1',
        upstream: { url: 'http://up:1/mcp' },
        tool_defaults: timeout(own),
        adapters: [{ type: 'artifact_producer', tools: ['shot'], overrides: timeout(adapter) }, ...more],
      },
    ],
  });
  const [first] = config.servers;
  if (first === undefined) throw new Error('no server');
  return effectiveServer(config, first);
}

describe('the time limit of a tool call', () => {
  test.each<[Levels, number | null, number | null]>([
    [{}, 60_000, 60_000],
    [{ core: 10 }, 10_000, 10_000],
    [{ core: null }, null, null],
    [{ core: 10, server: 20 }, 20_000, 20_000],
    [{ core: 10, server: null }, 10_000, 10_000],
    [{ core: null, server: 20 }, 20_000, 20_000],
    [{ core: 10, server: 20, adapter: 30 }, 30_000, 20_000],
    [{ core: 10, server: null, adapter: 30 }, 30_000, 10_000],
    [{ core: 10, server: 20, adapter: null }, 20_000, 20_000],
    [{ core: null, adapter: 0.5 }, 500, null],
    [{ core: 0.0001 }, 1, 1],
    // Longer than a timer can wait.
    [{ core: 1e9 }, 2 ** 31 - 1, 2 ** 31 - 1],
  ])('%j is %s ms for a named tool, %s ms for any other', (levels, named, other) => {
    const timeoutOf = toolTimeouts(server(levels));
    expect([timeoutOf('shot'), timeoutOf('other'), timeoutOf(undefined)]).toEqual([named, other, other]);
  });

  test('is that of the first entry that names the tool', () => {
    const again = (seconds: number | null): object => ({
      type: 'artifact_producer',
      tools: ['shot', 'other'],
      overrides: { tool_call_timeout_seconds: seconds },
    });
    const timeoutOf = toolTimeouts(server({ adapter: 5 }, [again(7)]));
    expect([timeoutOf('shot'), timeoutOf('other')]).toEqual([5000, 7000]);
    const inherited = toolTimeouts(server({ adapter: null, server: 3 }, [again(7)]));
    expect([inherited('shot'), inherited('other')]).toEqual([3000, 7000]);
  });

  test('is not taken from names that every object has', () => {
    const timeoutOf = toolTimeouts(server({ adapter: 5 }));
    expect([timeoutOf('constructor'), timeoutOf('__proto__'), timeoutOf('toString')]).toEqual([60_000, 60_000, 60_000]);
  });
});
