import { afterEach, expect, it, vi } from 'vitest';
import { MCP_TOOL_LOCKS } from '../kubernetes/resources.ts';
import { OptionalCache } from './optional-cache.ts';
import type { ScopedReflector } from './scoped-reflector.ts';

let cache: OptionalCache | undefined;
afterEach(() => cache?.stop());

/** A cache of locks; the API server gives these answers one after the other, and then the last again. */
function start(answers: readonly (boolean | Error)[], isAwaited = true, confirmMs = 1) {
  const left = [...answers];
  const asked: number[] = [];
  let listed: 'syncing' | 'synced' = 'syncing';
  const stop = vi.fn<() => Promise<void>>(() => Promise.resolve());
  const reflector = {
    start() {},
    stop,
    subscribe: () => () => {},
    coverage: () => listed,
  } as unknown as ScopedReflector;
  const onError = vi.fn<(error: unknown) => void>();
  cache = new OptionalCache({
    api: {
      serves() {
        asked.push(performance.now());
        const answer = left.length > 1 ? left.shift() : left[0];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer === true);
      },
    },
    resource: MCP_TOOL_LOCKS,
    reflector: () => reflector,
    onError,
    isAwaited,
    confirmMs,
  });
  cache.start();
  const asks = (times: number) => vi.waitFor(() => expect(asked.length).toBeGreaterThanOrEqual(times));
  return { cache, asks, stop, onError, list: () => (listed = 'synced') };
}

it('without waiting, what is not there yet is taken for missing', async () => {
  const { cache: optional } = start([false], false);
  expect(optional.coverage('team')).toBe('synced');
});

it('nobody takes for missing what has not been listed', async () => {
  const { cache: awaited, asks, list } = start([true]);
  expect(awaited.coverage('team')).toBe('syncing');
  await asks(1);
  expect(awaited.coverage('team')).toBe('syncing');
  list();
  await vi.waitFor(() => expect(awaited.coverage('team')).toBe('synced'));
});

it('that the API is not served counts when it was answered twice', async () => {
  const { cache: once, asks } = start([false], true, 60_000);
  await asks(1);
  // The answer is there when the next turn of the event loop comes.
  await new Promise((resolve) => setImmediate(resolve));
  expect(once.coverage('team')).toBe('syncing');
  await once.stop();
  const { cache: absent } = start([false, false]);
  await vi.waitFor(() => expect(absent.coverage('team')).toBe('synced'));
});

it('an API server that does not answer says nothing', async () => {
  const {
    cache: awaited,
    asks,
    onError,
  } = start([new Error('away'), new Error('away'), new Error('away'), false, true]);
  await asks(5);
  expect(onError).toHaveBeenCalledTimes(3);
  expect(awaited.coverage('team')).toBe('syncing');
});
