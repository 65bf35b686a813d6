import type { KubernetesApi } from './kubernetes.ts';
import { LeadershipLost } from './leader-election.ts';

/** The API, but writes are refused once another operator may lead: also those of a process that was frozen meanwhile. */
export function whileLeading(api: KubernetesApi, leading: () => boolean): KubernetesApi {
  const guard = async <T>(write: () => Promise<T>): Promise<T> => {
    if (!leading()) throw new LeadershipLost('not the leader: nothing is written');
    return write();
  };
  return {
    get: (...args) => api.get(...args),
    list: (...args) => api.list(...args),
    watch: (...args) => api.watch(...args),
    serves: (...args) => api.serves(...args),
    apply: (...args) => guard(() => api.apply(...args)),
    create: (...args) => guard(() => api.create(...args)),
    replace: (...args) => guard(() => api.replace(...args)),
    merge: (...args) => guard(() => api.merge(...args)),
    delete: (...args) => guard(() => api.delete(...args)),
  };
}
