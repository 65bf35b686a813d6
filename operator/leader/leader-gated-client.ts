import type { KubernetesApi } from '../kubernetes/kubernetes.ts';
import { LeadershipLost } from './leader-election.ts';

/**
 * The API, but nothing is written once another operator may lead: also not by a process that was frozen meanwhile.
 * @param lost aborts with leadership, and ends the writes that are under way
 */
export function leaderGatedClient(api: KubernetesApi, leading: () => boolean, lost: AbortSignal): KubernetesApi {
  const guard = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!leading()) throw new LeadershipLost('not the leader: nothing is written');
    return write();
  };
  return {
    get: (...args) => api.get(...args),
    list: (...args) => api.list(...args),
    watch: (...args) => api.watch(...args),
    serves: (...args) => api.serves(...args),
    apply: (object, resource, options) => guard(() => api.apply(object, resource, { ...options, signal: lost })),
    create: (object, resource) => guard(() => api.create(object, resource, lost)),
    replace: (object, resource) => guard(() => api.replace(object, resource, lost)),
    merge: (patch, resource, name) => guard(() => api.merge(patch, resource, name, lost)),
    delete: (resource, name, preconditions) => guard(() => api.delete(resource, name, preconditions, lost)),
  };
}
