/** What containers that the overlay adds need not say, and what follows from there being any. */

import { BLOCK_API_SERVER, BLOCK_LOOPBACK } from '../../lib/net/guarded-connect.ts';

interface Container {
  readonly restartPolicy?: string;
  readonly env?: readonly { readonly name: string }[];
  readonly name?: string;
  readonly image?: string;
  readonly securityContext?: object;
}
type PodSpec = Readonly<Record<string, unknown>>;

/** A container without privileges, as the Pod Security Standard `restricted` demands beside what the pod itself has. */
const unprivileged = (): object => ({ allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } });

/**
 * Every container but `ours` gets the image of the adapter when it names none, because that image holds more programs than
 * one, and no privileges when it has no security context of its own.
 */
export function withSidecarDefaults(spec: PodSpec, ours: string, image: string): PodSpec {
  const complete = (container: Container): Container =>
    container.name === ours ? container : { image, securityContext: unprivileged(), ...container };
  const lists = ['initContainers', 'containers'].flatMap((list) => {
    const containers = spec[list];
    return Array.isArray(containers) ? [[list, containers.map((one: Container) => complete(one))] as const] : [];
  });
  return { ...spec, ...Object.fromEntries(lists) };
}

/**
 * Tells `ours` where it may not connect to: to its own pod where it is alone there, and to the API server. What users say
 * of it does not count.
 * @param apiServer its addresses; undefined: pods may connect to it
 */
export function withConnectRules(spec: PodSpec, ours: string, apiServer: readonly string[] | undefined): PodSpec {
  const { containers, initContainers } = spec as {
    containers?: readonly Container[];
    initContainers?: readonly Container[];
  };
  const isAlone = containers?.length === 1 && !initContainers?.some(({ restartPolicy }) => restartPolicy === 'Always');
  const withRules = (container: Container): Container => {
    if (container.name !== ours) return container;
    const others = (container.env ?? []).filter(({ name }) => name !== BLOCK_LOOPBACK && name !== BLOCK_API_SERVER);
    const env = [
      ...others,
      ...(isAlone ? [{ name: BLOCK_LOOPBACK, value: 'true' }] : []),
      ...(apiServer === undefined
        ? []
        : [{ name: BLOCK_API_SERVER, value: ['kubernetes.default.svc', ...apiServer].join(',') }]),
    ];
    return container.env === undefined && env.length === 0 ? container : { ...container, env };
  };
  return containers === undefined ? spec : { ...spec, containers: containers.map(withRules) };
}
