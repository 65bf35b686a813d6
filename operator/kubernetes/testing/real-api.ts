import { randomUUID } from 'node:crypto';
import { startApiServer, type ApiServer } from '../../../e2e/cluster/api-server.ts';
import { ApiClient } from '../api-client.ts';
import type { KubernetesApi, KubernetesObject } from '../kubernetes.ts';
import { kubeconfigCredentials } from '../kubeconfig-credentials.ts';
import { CONFIG_MAPS, NAMESPACES } from '../resources.ts';

/** A client of an API server of this test alone. */
export interface RealApi extends AsyncDisposable {
  readonly api: ApiClient;
  readonly server: ApiServer;
  /** A new namespace. */
  namespace(): Promise<string>;
  /** An object that stands for a custom resource: something real with a uid. */
  owner(namespace: string, name: string): Promise<KubernetesObject>;
}

export async function startRealApi(): Promise<RealApi> {
  const server = await startApiServer();
  const credentials = await kubeconfigCredentials(server.kubeconfig);
  const api = new ApiClient({ credentials, userAgent: 'contract-test' });
  return {
    api,
    server,
    async namespace() {
      const name = `test-${randomUUID().slice(0, 8)}`;
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, NAMESPACES);
      return name;
    },
    owner: (namespace, name) =>
      api.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } }, CONFIG_MAPS),
    async [Symbol.asyncDispose]() {
      await api.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

export type Verb = keyof KubernetesApi;

/** The API, recording each request as `verb Kind/name` before it is sent; `before` may hold it up or fail it. */
export function recordedApi(
  api: KubernetesApi,
  before: (verb: Verb) => Promise<void> = () => Promise.resolve(),
): { readonly api: KubernetesApi; readonly requests: string[] } {
  const requests: string[] = [];
  const record = async <T>(verb: Verb, what: string, send: () => Promise<T>): Promise<T> => {
    requests.push(`${verb} ${what}`);
    await before(verb);
    return send();
  };
  const named = (object: KubernetesObject): string => `${object.kind}/${object.metadata.name}`;
  return {
    requests,
    api: {
      get: (resource, name, signal) =>
        record('get', `${resource.kind}/${name.name}`, () => api.get(resource, name, signal)),
      list: (resource, ...rest) => record('list', resource.kind, () => api.list(resource, ...rest)),
      watch: (...args) => api.watch(...args),
      serves: (resource, signal) => record('serves', resource.kind, () => api.serves(resource, signal)),
      apply: (object, ...rest) => record('apply', named(object), () => api.apply(object, ...rest)),
      create: (object, ...rest) => record('create', named(object), () => api.create(object, ...rest)),
      replace: (object, ...rest) => record('replace', named(object), () => api.replace(object, ...rest)),
      merge: (patch, resource, name) =>
        record('merge', `${resource.kind}/${name.name}`, () => api.merge(patch, resource, name)),
      delete: (resource, name, conditions) =>
        record('delete', `${resource.kind}/${name.name}`, () => api.delete(resource, name, conditions)),
    },
  };
}

export function writesOf(requests: readonly string[]): string[] {
  return requests.filter((request) => !/^(get|list|serves) /.test(request));
}
