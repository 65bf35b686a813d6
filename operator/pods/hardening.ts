/** What the pods of all our programs have in common: no privileges, and how they are asked whether they work. */

/** `openshift`: no fixed ids, because the platform assigns them. */
export type PodSecurity = 'restricted' | 'openshift';

/** User and group of the image. */
const USER_ID = 65_532;

/** Ports below are those of root, unless the pod says otherwise, which Kubernetes calls safe: it holds in the pod only. */
const FIRST_FREE_PORT = 1024;
const ALL_PORTS = { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] };

/**
 * Of the pod. Source: Kubernetes, "Pod Security Standards", restricted.
 * @param ports that the program listens on
 */
export function podSecurityContext(podSecurity: PodSecurity, ports: readonly number[]): object {
  return {
    runAsNonRoot: true,
    seccompProfile: { type: 'RuntimeDefault' },
    ...(podSecurity === 'openshift' ? {} : { fsGroup: USER_ID, fsGroupChangePolicy: 'OnRootMismatch' }),
    ...(ports.some((port) => port < FIRST_FREE_PORT) ? ALL_PORTS : {}),
  };
}

/** Of a container of ours. */
export function containerSecurityContext(podSecurity: PodSecurity): object {
  return {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    ...(podSecurity === 'openshift' ? {} : { runAsUser: USER_ID, runAsGroup: USER_ID }),
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
  };
}

/** The probes of a container whose program answers `/livez` and `/readyz` at the port of this name. */
export function probes(port: string): object {
  const probe = (path: string, timing: object): object => ({ httpGet: { path, port }, ...timing });
  return {
    startupProbe: probe('/livez', { periodSeconds: 2, timeoutSeconds: 5, failureThreshold: 60 }),
    livenessProbe: probe('/livez', { periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 }),
    readinessProbe: probe('/readyz', { periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 2 }),
  };
}
