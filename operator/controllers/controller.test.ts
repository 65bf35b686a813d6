import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { Controller, type ControllerOptions, type Outcome } from './controller.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { ObjectStore } from '../cache/object-store.ts';
import { done, TerminalError } from './reconciler.ts';
import type { Key } from '../kubernetes/key.ts';
import type { Change, Coverage, WatchedCache } from '../cache/watched-cache.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A cache that the test writes to. */
class WrittenCache extends ObjectStore implements WatchedCache {
  readonly synced = Promise.resolve();
  readonly coverages = new Map<string, Coverage>();
  readonly #handlers = new Set<(change: Change) => void>();

  coverage(namespace: string): Coverage {
    return this.coverages.get(namespace) ?? 'synced';
  }
  subscribe(handler: (change: Change) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }
  write(object: KubernetesObject): void {
    this.#notify(this.set(object));
  }
  erase(key: Key): void {
    this.#notify(this.remove(key));
  }
  #notify(change: Change | undefined): void {
    if (change !== undefined) for (const handler of this.#handlers) handler(change);
  }
}

let version = 0;
const object = (name: string, labels: Record<string, string> = {}, namespace = 'ns'): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, uid: name, resourceVersion: String(++version), labels },
});
const self = ({ metadata: { name, namespace = '' } }: KubernetesObject): Key[] => [{ namespace, name }];

function controllerOf(
  reconcile: ControllerOptions['reconcile'],
  options: Partial<ControllerOptions> & { cache?: WrittenCache } = {},
) {
  const cache = options.cache ?? new WrittenCache();
  const outcomes: [string, Outcome][] = [];
  const logged: string[] = [];
  const runs: string[] = [];
  const log = (detail: object, message: string): void => {
    logged.push(`${message}: ${(detail as { err: Error }).err.message}`);
  };
  const controller = new Controller({
    name: 'test',
    sources: [{ cache, keys: self }],
    exists: (key) => cache.get(key) !== undefined,
    log: { warn: log, error: log },
    hooks: { reconciled: (name, outcome) => outcomes.push([name, outcome]), queueDepth: () => {} },
    random: () => 1,
    ...options,
    reconcile: (key, signal) => {
      runs.push(key.name);
      return reconcile(key, signal);
    },
  });
  return { controller, cache, outcomes, logged, runs };
}
const pass = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);

describe('keys', () => {
  test('of what is in the caches at the start and of each change are reconciled', async () => {
    const { controller, cache, runs } = controllerOf(async () => done);
    cache.write(object('a'));
    controller.start();
    await pass(0);
    cache.write(object('b'));
    await pass(0);
    cache.erase({ namespace: 'ns', name: 'a' });
    await pass(0);
    expect(runs).toEqual(['a', 'b', 'a']);
    await controller.stop();
  });

  test('of an object that moves from one group to another are both groups', async () => {
    const cache = new WrittenCache();
    const keys = ({ metadata }: KubernetesObject): Key[] => [
      { namespace: 'ns', name: metadata.labels?.['group'] ?? '' },
    ];
    const { controller, runs } = controllerOf(async () => done, { cache, sources: [{ cache, keys }] });
    cache.write(object('a', { group: 'old' }));
    controller.start();
    await pass(0);
    cache.write(object('a', { group: 'new' }));
    await pass(0);
    expect(runs).toEqual(['old', 'old', 'new']);
    await controller.stop();
  });

  test('wait until all caches are complete for their namespace; others do not wait for them', async () => {
    const other = new WrittenCache();
    other.coverages.set('slow', 'syncing');
    const cache = new WrittenCache();
    const sources = [
      { cache, keys: self },
      { cache: other, keys: () => [] },
    ];
    const { controller, runs, outcomes } = controllerOf(async () => done, { cache, sources });
    for (let i = 0; i < 500; i++) cache.write(object(`slow ${i}`, {}, 'slow'));
    cache.write(object('quick'));
    controller.start();
    await pass(10_000);
    expect(runs).toEqual(['quick']);
    cache.write(object('quick'));
    await pass(10);
    expect(runs).toEqual(['quick', 'quick']);
    other.coverages.set('slow', 'synced');
    await pass(10_000);
    expect(runs).toHaveLength(502);
    expect(outcomes).toHaveLength(502);
    await controller.stop();
  });

  test('of a namespace that left are forgotten', async () => {
    const { controller, cache, runs } = controllerOf(async () => done);
    controller.start();
    cache.coverages.set('gone', 'outside');
    cache.write(object('a', {}, 'gone'));
    await pass(3_600_000);
    expect(runs).toEqual([]);
    await controller.stop();
  });
});

describe('time', () => {
  test('every key that exists is reconciled again after ten minutes, give or take a fifth', async () => {
    const { controller, cache, runs } = controllerOf(async () => done, { random: () => 0 });
    cache.write(object('a'));
    controller.start();
    await pass(8 * 60_000 - 1);
    expect(runs).toEqual(['a']);
    await pass(2);
    expect(runs).toEqual(['a', 'a']);
    cache.erase({ namespace: 'ns', name: 'a' });
    await pass(24 * 3_600_000);
    expect(runs).toEqual(['a', 'a', 'a']);
    await controller.stop();
  });

  test('a key that asks for it is reconciled again sooner, and counted as such', async () => {
    const { controller, runs, outcomes } = controllerOf(async () =>
      runs.length === 1 ? { requeueAfterMs: 5_000 } : done,
    );
    controller.enqueue({ namespace: 'ns', name: 'a' });
    await pass(4_999);
    expect(runs).toEqual(['a']);
    await pass(1);
    expect(runs).toEqual(['a', 'a']);
    expect(outcomes).toEqual([
      ['test', 'requeued'],
      ['test', 'done'],
    ]);
    await controller.stop();
  });

  test('a reconcile that takes too long sees its signal abort and is tried again', async () => {
    const { controller, runs, logged } = controllerOf(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );
    controller.enqueue({ namespace: 'ns', name: 'a' });
    await pass(120_000);
    expect(logged).toEqual([expect.stringContaining('no answer within 120000 ms')]);
    await pass(500);
    expect(runs).toHaveLength(2);
    const stopped = controller.stop();
    await pass(10_000);
    await stopped;
  });
});

describe('failures', () => {
  test('are logged, counted and tried again', async () => {
    const { controller, cache, runs, logged, outcomes } = controllerOf(async () => {
      if (runs.length < 3) throw new Error('no luck');
      return done;
    });
    cache.write(object('a'));
    controller.start();
    await pass(2_000);
    expect(runs).toHaveLength(3);
    expect(logged).toEqual(Array(2).fill('a reconcile failed; it is tried again: no luck'));
    expect(outcomes.map(([, outcome]) => outcome)).toEqual(['failed', 'failed', 'done']);
    await controller.stop();
  });

  test('that trying again cannot help wait for the next change or resync', async () => {
    const { controller, cache, runs, outcomes } = controllerOf(async () => {
      throw new TerminalError('never');
    });
    cache.write(object('a'));
    controller.start();
    await pass(5 * 60_000);
    expect(runs).toHaveLength(1);
    expect(outcomes).toEqual([['test', 'terminal']]);
    cache.write(object('a'));
    await pass(0);
    expect(runs).toHaveLength(2);
    await controller.stop();
  });

  test('of hooks and of key functions end nothing', async () => {
    const cache = new WrittenCache();
    const broken = (): never => {
      throw new Error('broken');
    };
    const keys = (one: KubernetesObject): Key[] => (one.metadata.name === 'bad' ? broken() : self(one));
    const { controller, runs, logged } = controllerOf(async () => done, {
      cache,
      sources: [{ cache, keys }],
      hooks: { reconciled: broken, queueDepth: broken },
    });
    controller.start();
    cache.write(object('bad'));
    cache.write(object('a'));
    await pass(0);
    cache.write(object('a'));
    await pass(0);
    expect(runs).toEqual(['a', 'a']);
    expect(new Set(logged)).toEqual(new Set(['a handler failed: broken']));
    await controller.stop();
  });
});

describe('stopping', () => {
  test('lets a reconcile finish, then begins none', async () => {
    const end = Promise.withResolvers<typeof done>();
    const { controller, cache, runs, outcomes } = controllerOf(() => end.promise);
    cache.write(object('a'));
    controller.start();
    await pass(0);
    cache.write(object('a'));
    let stopped = false;
    const stop = controller.stop().then(() => {
      stopped = true;
    });
    await pass(5_000);
    expect(stopped).toBe(false);
    end.resolve(done);
    await stop;
    cache.write(object('b'));
    await pass(3_600_000);
    expect(runs).toEqual(['a']);
    expect(outcomes).toEqual([['test', 'done']]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('aborts a reconcile that goes on for longer than ten seconds', async () => {
    const { controller, outcomes, logged } = controllerOf(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );
    controller.enqueue({ namespace: 'ns', name: 'a' });
    await pass(0);
    const stop = controller.stop();
    await pass(10_000);
    await stop;
    expect(outcomes).toEqual([['test', 'aborted']]);
    expect(logged).toEqual([]);
  });

  test('is immediate when leadership is lost', async () => {
    const leading = new AbortController();
    const { controller, cache, runs, outcomes } = controllerOf(
      (_, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    );
    cache.write(object('a'));
    controller.start(leading.signal);
    await pass(0);
    leading.abort(new Error('no leader any more'));
    await pass(0);
    expect(outcomes).toEqual([['test', 'aborted']]);
    cache.write(object('b'));
    await pass(60_000);
    expect(runs).toEqual(['a']);
  });
});
