import { ApiError, type KubernetesApi } from '../kubernetes/kubernetes.ts';
import type { Metrics } from './metrics.ts';

/** The API, with every request counted by its verb and the status of its answer. */
export function measuredApi(
  api: KubernetesApi,
  metrics: Pick<Metrics, 'apiRequest'>,
  now: () => number,
): KubernetesApi {
  const count = (verb: string, started: number, error?: unknown): void => {
    const code = error === undefined ? '200' : error instanceof ApiError ? String(error.code) : 'error';
    metrics.apiRequest(verb, code, (now() - started) / 1000);
  };
  const measured = async <T>(verb: string, request: () => Promise<T>): Promise<T> => {
    const started = now();
    try {
      const answer = await request();
      count(verb, started);
      return answer;
    } catch (error) {
      count(verb, started, error);
      throw error;
    }
  };
  return {
    get: (...args) => measured('get', () => api.get(...args)),
    list: (...args) => measured('list', () => api.list(...args)),
    serves: (...args) => measured('discover', () => api.serves(...args)),
    apply: (...args) => measured('apply', () => api.apply(...args)),
    create: (...args) => measured('create', () => api.create(...args)),
    replace: (...args) => measured('update', () => api.replace(...args)),
    merge: (...args) => measured('patch', () => api.merge(...args)),
    delete: (...args) => measured('delete', () => api.delete(...args)),
    async *watch(...args) {
      const started = now();
      try {
        yield* api.watch(...args);
      } catch (error) {
        count('watch', started, error);
        throw error;
      }
      count('watch', started);
    },
  };
}
