import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { ApiError, type KubernetesApi, type KubernetesObject, type WatchEvent } from '../kubernetes/kubernetes.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';
import { CONFIG_MAPS } from '../kubernetes/resources.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

type Watch = (signal: AbortSignal, resourceVersion: string) => AsyncIterable<WatchEvent>;

const object = (name: string, resourceVersion: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'ns', uid: name, resourceVersion },
});
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
/** A watch that stays open and says nothing. */
// oxlint-disable-next-line require-yield
async function* silent(signal: AbortSignal): AsyncGenerator<WatchEvent> {
  await aborted(signal);
}
// oxlint-disable-next-line require-yield
async function* failing(error: Error): AsyncGenerator<WatchEvent> {
  throw error;
}

/** An API server that does what the test says; the times at which it was asked. */
function scripted(
  watch: Watch,
  list: () => Promise<readonly KubernetesObject[]> = async () => [],
  options: Partial<ReflectorOptions> = {},
) {
  const lists: number[] = [];
  const watches: { at: number; from: string; seconds: number }[] = [];
  const errors: string[] = [];
  let open = 0;
  let most = 0;
  const at = (): number => Math.round(performance.now());
  const api: Pick<KubernetesApi, 'list' | 'watch'> = {
    async list() {
      lists.push(at());
      return { resourceVersion: `list ${lists.length}`, items: await list() };
    },
    async *watch(_resource, selection, signal) {
      watches.push({ at: at(), from: selection.resourceVersion, seconds: selection.timeoutSeconds });
      most = Math.max(most, ++open);
      try {
        yield* watch(signal, selection.resourceVersion);
      } finally {
        open--;
      }
    },
  };
  const reflector = new Reflector({
    api,
    resource: CONFIG_MAPS,
    selection: {},
    onError: (error) => errors.push(String(error)),
    random: () => 1,
    ...options,
  });
  reflector.start();
  return { reflector, lists, watches, errors, most: () => most };
}
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('failures', () => {
  test('of lists are tried again with growing pauses, for ever, and each is told', async () => {
    const { reflector, lists, errors } = scripted(silent, async () => {
      throw new ApiError(500, 'InternalError', 'etcd is away');
    });
    await pass(60_000);
    const pauses = lists.slice(1).map((time, i) => time - lists[i]!);
    expect(pauses.slice(0, 7)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
    expect(errors).toHaveLength(lists.length);
    await reflector.stop();
  });

  test('of watches keep what is known and go on from there', async () => {
    let tries = 0;
    const { reflector, lists, watches, errors } = scripted((signal) =>
      ++tries <= 3 ? failing(new Error('reset')) : silent(signal),
    );
    await pass(10_000);
    expect(watches.map(({ at, from }) => [at - watches[0]!.at, from])).toEqual([
      [0, 'list 1'],
      [500, 'list 1'],
      [1_500, 'list 1'],
      [3_500, 'list 1'],
    ]);
    expect(lists).toHaveLength(1);
    expect(errors).toHaveLength(3);
    await reflector.stop();
  });

  test('never lead to two watches at a time, nor to a watch per moment', async () => {
    async function* ended(): AsyncGenerator<WatchEvent> {}
    const { reflector, watches, most } = scripted(ended);
    await pass(60_000);
    expect(most()).toBe(1);
    expect(watches.length).toBeLessThan(15);
    await reflector.stop();
  });

  test('with 410 lead to a new list at once, but not without end', async () => {
    const { reflector, lists } = scripted(() => failing(new ApiError(410, 'Expired', 'too old')));
    await pass(0);
    expect(lists).toHaveLength(2);
    await pass(60_000);
    expect(lists.length).toBeLessThan(15);
    await reflector.stop();
  });

  test('that come as an event are treated the same; others lead to a new list after a pause', async () => {
    const codes = [410, 500];
    async function* events(signal: AbortSignal): AsyncGenerator<WatchEvent> {
      const code = codes.shift();
      if (code === undefined) await aborted(signal);
      else yield { type: 'ERROR', code, message: 'no' };
    }
    const { reflector, lists, errors } = scripted(events);
    await pass(0);
    expect(lists).toHaveLength(2);
    await pass(20_000);
    expect(lists).toHaveLength(3);
    expect(errors).toHaveLength(2);
    await reflector.stop();
  });
});

describe('a watch', () => {
  test('goes on from the last bookmark', async () => {
    let first = true;
    async function* events(signal: AbortSignal): AsyncGenerator<WatchEvent> {
      if (!first) await aborted(signal);
      first = false;
      yield { type: 'ADDED', object: object('a', '5') };
      yield {
        type: 'BOOKMARK',
        object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '', resourceVersion: '9' } },
      };
    }
    const { reflector, watches } = scripted(events);
    await pass(0);
    expect(watches.map(({ from }) => from)).toEqual(['list 1', '9']);
    expect(reflector.list()).toHaveLength(1);
    await reflector.stop();
  });

  test('that says nothing for 90 s is given up; one that says something is not', async () => {
    const { reflector, watches, errors } = scripted(silent);
    await pass(89_999);
    expect(watches).toHaveLength(1);
    await pass(1_000);
    expect(watches).toHaveLength(2);
    expect(errors).toEqual([expect.stringContaining('silent for 90000 ms')]);
    await reflector.stop();

    async function* talking(signal: AbortSignal): AsyncGenerator<WatchEvent> {
      for (let i = 1; i < 5; i++) {
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 60_000)), aborted(signal)]);
        yield { type: 'BOOKMARK', object: object('', String(i)) };
      }
      await aborted(signal);
    }
    const other = scripted(talking);
    await pass(4 * 60_000 + 80_000);
    expect(other.watches).toHaveLength(1);
    expect(other.errors).toEqual([]);
    await other.reflector.stop();
  });

  test('is asked for 290 s, give or take 5', async () => {
    for (const [random, seconds] of [
      [0, 285],
      [1, 295],
    ] as const) {
      const { reflector, watches } = scripted(silent, undefined, { random: () => random });
      await pass(0);
      expect(watches[0]?.seconds).toBe(seconds);
      await reflector.stop();
    }
  });

  test('that the server never ends is ended here', async () => {
    async function* endless(signal: AbortSignal): AsyncGenerator<WatchEvent> {
      for (;;) {
        await Promise.race([new Promise((resolve) => setTimeout(resolve, 30_000)), aborted(signal)]);
        yield { type: 'BOOKMARK', object: object('', '1') };
      }
    }
    const { reflector, watches } = scripted(endless);
    await pass(324_000);
    expect(watches).toHaveLength(1);
    await pass(2_000);
    expect(watches).toHaveLength(2);
    await reflector.stop();
  });
});

test('the first list may fail: synced waits for one that works', async () => {
  let works = false;
  const { reflector } = scripted(silent, async () => {
    if (!works) throw new Error('away');
    return [object('a', '1')];
  });
  let synced = false;
  void reflector.synced.then(() => {
    synced = true;
  });
  await pass(5_000);
  expect([synced, reflector.coverage('ns')]).toEqual([false, 'syncing']);
  works = true;
  await pass(8_000);
  expect([synced, reflector.coverage('ns')]).toEqual([true, 'synced']);
  expect(reflector.list()).toHaveLength(1);
  await reflector.stop();
});
