/** Where the pods of an adapter may connect to: rules of a NetworkPolicy from the connections of its configuration. */
import { isIP } from 'node:net';
import { BLOCKED_CIDRS, blockedReason, isLoopbackAddress } from '../../lib/net/blocked-addresses.ts';
import { GROUP } from '../../crds/v1alpha1/api.ts';
import { valueAt } from '../../lib/json/tree.ts';
import type { KubernetesObject } from '../kubernetes/kubernetes.ts';
import { isObject } from '../../lib/json/json-object.ts';
import { listAt, textAt } from '../kubernetes/unstructured.ts';
import type { Connection, Target } from '../validation/connections.ts';
import type { PodSecurity } from './hardening.ts';
import { type Place, serviceOf } from './service-names.ts';

export type Port = number | string;

export interface EgressRule {
  readonly to?: readonly object[];
  /** A protocol without a port means each of its ports. */
  readonly ports: readonly { readonly port?: Port; readonly protocol: string }[];
}

/** What the rules depend on beside the connections. */
export interface EgressContext {
  readonly podSecurity: PodSecurity;
  /** Services that URLs name, by namespace and name; undefined when unknown or unreadable. */
  readonly services: (namespace: string, name: string) => KubernetesObject | undefined;
  /** Whether the operator has no right to read this one. */
  readonly unreadable?: (namespace: string, name: string) => boolean;
}

/** Any host but those that no pod may reach. */
const ANYWHERE = [
  { ipBlock: { cidr: '0.0.0.0/0', except: BLOCKED_CIDRS.ipv4 } },
  { ipBlock: { cidr: '::/0', except: BLOCKED_CIDRS.ipv6 } },
];
const WIDEST: ReadonlySet<string | undefined> = new Set(ANYWHERE.map(({ ipBlock }) => ipBlock.cidr));

/** Stands for all of them; no connection has this one. */
const EVERY_PORT = 0;

/** OpenShift's DNS pods listen on the second one, behind the Service. */
const DNS_PORTS = [53, 5353];

/** Service behind a Service of type ExternalName, behind … */
const MAX_ALIASES = 4;

/** By this label a Service lets policies of other namespaces show by which labels and ports its pods are found. */
const SHOWN_LABEL = `${GROUP}/show-selector`;

/**
 * Where pods connect whose host only they know: any address but those that no pod may reach, and any pod, which some
 * network plugins do not count among addresses.
 */
const WHEREVER = [...ANYWHERE, { namespaceSelector: {} }];

/** Fields whose connections cannot be known, so that egress is open but for what nobody may reach. */
export const unknownConnections = (connections: readonly Connection[]): string[] =>
  connections.filter(({ target }) => target === undefined).map(({ field }) => field);

/** One rule for each set of peers, in the order of the configuration. */
export function egressRules(
  namespace: string,
  connections: readonly Connection[],
  context: EgressContext,
): EgressRule[] {
  const rules = new Map<string, { to: readonly object[]; ports: Set<Port> }>();
  for (const { target } of connections) {
    const reached = target === undefined ? [{ to: WHEREVER, ports: [EVERY_PORT] }] : reach(namespace, target, context);
    for (const { to, ports } of reached) {
      const id = JSON.stringify(to);
      const rule = rules.get(id) ?? { to, ports: new Set() };
      for (const port of ports) rule.ports.add(port);
      rules.set(id, rule);
    }
  }
  return [dns(context.podSecurity), ...[...rules.values()].map(({ to, ports }) => ({ to, ports: tcp(ports) }))];
}

/**
 * Ports at which a NetworkPolicy allows any address, as texts, but for DNS: hosts outside the cluster have names, and
 * policies know only addresses.
 */
export function widePorts(policy: unknown): string[] {
  const found = listAt(policy, 'spec', 'egress').flatMap((rule) => {
    const to = listAt(rule, 'to');
    const ports = listAt(rule, 'ports').map((one) => valueAt(one, ['port']) ?? 'every port');
    if (to.length === 0) return (ports.length > 0 ? ports : ['every port']).filter((port) => !isDns(port));
    const isWide = to.some((peer) => WIDEST.has(textAt(peer, 'ipBlock', 'cidr')));
    return isWide ? (ports.length > 0 ? ports : ['every port']) : [];
  });
  return [...new Set(found.map(String))].sort(inOrder);
}

const isDns = (port: unknown): boolean => DNS_PORTS.some((one) => one === port);

function dns(podSecurity: PodSecurity): EgressRule {
  const ports = podSecurity === 'openshift' ? DNS_PORTS : DNS_PORTS.slice(0, 1);
  return { ports: ports.flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))) };
}

const tcp = (ports: ReadonlySet<Port>): EgressRule['ports'] =>
  ports.has(EVERY_PORT)
    ? [{ protocol: 'TCP' }]
    : [...ports].sort((a, b) => inOrder(String(a), String(b))).map((port) => ({ port, protocol: 'TCP' }));

const inOrder = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

interface Reach {
  readonly to: readonly object[];
  readonly ports: readonly Port[];
}

function reach(
  namespace: string,
  { host, ports }: Target,
  context: Pick<EgressContext, 'services' | 'unreadable'>,
  depth = 0,
): Reach[] {
  const family = isIP(host);
  if (family !== 0) {
    if (blockedReason(host) !== undefined || isLoopbackAddress(host)) return [];
    return [{ to: [{ ipBlock: { cidr: `${host}/${family === 4 ? 32 : 128}` } }], ports }];
  }
  if (host === 'localhost' || host.endsWith('.localhost')) return [];

  const { place, service, certain } = serviceOf(namespace, host, context.services);
  if (service !== undefined && place !== undefined) {
    const { type, externalName } = specOf(service);
    if (type === 'ExternalName' && typeof externalName === 'string' && depth < MAX_ALIASES) {
      const alias = externalName.toLowerCase().replace(/\.$/, '');
      // A name in DNS, where short names of Services mean nothing.
      return alias.includes('.')
        ? reach(namespace, { host: alias, ports }, context, depth + 1)
        : [{ to: ANYWHERE, ports }];
    }
    return behind(namespace, place, service, ports);
  }
  // Policies see the port of the pods, which only the Service knows.
  const inside = place !== undefined && context.unreadable?.(place.namespace, place.name) ? [EVERY_PORT] : ports;
  return [
    ...(place === undefined ? [] : [{ to: [wholeNamespace(place.namespace)], ports: inside }]),
    ...(certain ? [] : [{ to: ANYWHERE, ports }]),
  ];
}

/** The pods of a Service. Policies see connections after the Service has been resolved to a pod and its port. */
function behind(namespace: string, place: Place, service: KubernetesObject, ports: readonly number[]): Reach[] {
  const spec = specOf(service);
  const matchLabels = asRecord(spec['selector']);
  const targets = spec['clusterIP'] === 'None' ? ports : ports.flatMap((port) => targetPorts(spec, port));
  const isShown = place.namespace === namespace || service.metadata.labels?.[SHOWN_LABEL] === 'true';
  // The policy would tell everybody here how the pods of others are found.
  if (!isShown && Object.keys(matchLabels).length > 0)
    return [{ to: [wholeNamespace(place.namespace)], ports: [EVERY_PORT] }];
  if (Object.keys(matchLabels).length > 0) {
    return [{ to: [{ ...wholeNamespace(place.namespace), podSelector: { matchLabels } }], ports: targets }];
  }
  // Whoever made the Service chose its endpoints, in the cluster or outside.
  return [
    { to: [wholeNamespace(place.namespace)], ports: targets },
    { to: ANYWHERE, ports: targets },
  ];
}

function targetPorts(spec: Readonly<Record<string, unknown>>, port: number): Port[] {
  const entries = (Array.isArray(spec['ports']) ? spec['ports'] : []).map(asRecord);
  const targets = entries
    .filter((entry) => entry['port'] === port && (entry['protocol'] ?? 'TCP') === 'TCP')
    .map(({ targetPort }) => (typeof targetPort === 'number' || typeof targetPort === 'string' ? targetPort : port));
  return targets.length > 0 ? targets : [port];
}

const wholeNamespace = (namespace: string) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
});

const specOf = (service: KubernetesObject) => asRecord(service['spec']);

const asRecord = (value: unknown): Readonly<Record<string, unknown>> => (isObject(value) ? value : {});
