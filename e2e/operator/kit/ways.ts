/** Ways to more than the right on McpAdapters and ApiScrapeSources, tried by somebody who has nothing else. */
import { adapter, source } from './resources.ts';

export interface Way {
  readonly what: string;
  readonly resource: object;
  /** What the refusal says, so that whoever reads it knows which right to ask for. */
  readonly says: string;
  /** Tried by somebody who has all rights of an editor but those on what is not theirs; otherwise it fails for want of another right. */
  readonly asEditor?: true;
}

/** Names of what belongs to somebody else in the namespace. */
export const THEIRS = { secret: 'payroll', map: 'settings', claim: 'ledger', account: 'admin' } as const;

/** What an editor may read, by name only. */
const MINE = 'mine';
const MANY = Array.from({ length: 30 }, (_, index) => `${MINE}-${index}`);
export const OWN_SECRETS: readonly string[] = [MINE, ...MANY];

const NAME = 'way';
const GROUP = 'ways';
/** Of the group of all sources here. Who has no other right may read it, so that something else is missing. */
export const GROUP_CLAIM = `scraper-${GROUP}-state`;
const secretKeyRef = { name: THEIRS.secret, key: 'token' };
const configMapKeyRef = { name: THEIRS.map, key: 'plan' };
const container = (fields: object): object => ({ containers: [{ name: 'side', ...fields }] });
const volume = (fields: object): object => ({ volumes: [{ name: 'extra', ...fields }] });
const overlay = (spec: object): object => adapter(NAME, { podOverlay: { spec } });
const from = (spec: object, config: object = {}): object => adapter(NAME, spec, config);
const at = (url: string): object => ({ servers: [{ id: 'demo', mount_path: '/mcp/demo', upstream: { url } }] });
const scraped = (spec: object): object => {
  const base = source(NAME, GROUP) as { spec: object };
  return { ...base, spec: { ...base.spec, ...spec } };
};

const pods = (field: string): string => `spec.${field} needs the right to create pods in namespace`;
const getsSecret = `refers to the Secret ${THEIRS.secret}, which needs the right to get it (secrets) in namespace`;
const getsMap = `refers to the ConfigMap ${THEIRS.map}, which needs the right to get it (configmaps) in namespace`;
const getsClaim = `uses the claim ${THEIRS.claim}, which needs the right to get it (persistentvolumeclaims) in namespace`;
const creates = (field: string, what: string): string => `spec.${field} needs the right to create ${what} in namespace`;
const not = (what: string): string => `spec.podOverlay asks for ${what}, which is not allowed here`;
const elsewhere = 'needs the right to get services in namespace kube-system';
const allServices = 'needs the right to get services in namespace *';

/** What the right on something else allows. */
export const WAYS: readonly Way[] = [
  { what: 'a sidecar', resource: overlay(container({ command: ['sh'] })), says: pods('podOverlay') },
  { what: 'another image', resource: from({ image: 'evil:1' }), says: pods('image') },
  {
    what: 'a Secret as a variable, sent to a server of one’s own',
    resource: from(
      { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] },
      {
        servers: [
          {
            id: 'demo',
            mount_path: '/mcp/demo',
            upstream: { url: 'http://mine:1/mcp', static_headers: { 'X-Token': '${TOKEN}' } },
          },
        ],
      },
    ),
    says: getsSecret,
  },
  {
    what: 'a Secret behind 30 variables of another one',
    resource: from({
      env: Array.from({ length: 30 }, (_, index) => ({
        name: `V${index}`,
        valueFrom: { secretKeyRef: { name: index < 29 ? MINE : THEIRS.secret, key: 'token' } },
      })),
    }),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'more Secrets than the API server can be asked about',
    resource: from({ envFrom: MANY.map((name) => ({ secretRef: { name } })) }),
    asEditor: true,
    says: 'refers to more than 20 Secrets, which needs the right to get all secrets',
  },
  { what: 'all of a Secret', resource: from({ envFrom: [{ secretRef: { name: THEIRS.secret } }] }), says: getsSecret },
  {
    what: 'a Secret for the registry',
    resource: from({ imagePullSecrets: [{ name: THEIRS.secret }] }),
    says: getsSecret,
  },
  {
    what: 'a Secret in a sidecar',
    resource: overlay(container({ env: [{ name: 'T', valueFrom: { secretKeyRef } }] })),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'all of a Secret in an init container',
    resource: overlay({ initContainers: [{ name: 'i', envFrom: [{ secretRef: { name: THEIRS.secret } }] }] }),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'a Secret as a volume',
    resource: overlay(volume({ secret: { secretName: THEIRS.secret } })),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'a Secret in a projected volume',
    resource: overlay(volume({ projected: { sources: [{ secret: { name: THEIRS.secret } }] } })),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'a Secret of a driver',
    resource: overlay(volume({ csi: { driver: 'x', nodePublishSecretRef: { name: THEIRS.secret } } })),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'a ConfigMap as a variable',
    resource: from({ env: [{ name: 'PLAN', valueFrom: { configMapKeyRef } }] }),
    says: getsMap,
  },
  {
    what: 'a ConfigMap as a volume',
    resource: overlay(volume({ configMap: { name: THEIRS.map } })),
    asEditor: true,
    says: getsMap,
  },
  { what: 'somebody else’s claim', resource: from({ storage: { existingClaim: THEIRS.claim } }), says: getsClaim },
  {
    what: 'a claim that somebody’s resource of this name has left',
    resource: from({ storage: { claim: { size: '1Gi' } } }),
    asEditor: true,
    says: `uses the claim ${NAME}-storage, which needs the right to get it (persistentvolumeclaims) in namespace`,
  },
  {
    what: 'a claim of one’s own',
    resource: scraped({ storage: { claim: { size: '1Gi' } } }),
    says: creates('storage.claim', 'persistentvolumeclaims'),
  },
  {
    what: 'a claim that somebody’s group of this name has left',
    resource: scraped({ storage: { claim: { size: '1Gi' } } }),
    asEditor: true,
    says: `uses the claim ${GROUP_CLAIM}, which needs the right to get it (persistentvolumeclaims) in namespace`,
  },
  {
    what: 'nodes that cannot be drained',
    resource: from({ disruptionBudget: { maxUnavailable: 0 } }),
    says: creates('disruptionBudget', 'poddisruptionbudgets.policy'),
  },
  {
    what: 'the end of a claim that was retained',
    resource: from({ deletionPolicy: 'Delete' }),
    says: 'spec.deletionPolicy Delete needs the right to delete persistentvolumeclaims in namespace',
  },
  {
    what: 'a host that another Ingress has',
    resource: from({ ingress: { host: 'pay.example.com' } }),
    says: creates('ingress', 'ingresses.networking.k8s.io'),
  },
  {
    what: 'somebody else’s certificate',
    resource: from({ ingress: { host: 'pay.example.com', tlsSecretName: THEIRS.secret } }),
    asEditor: true,
    says: getsSecret,
  },
  {
    what: 'a route of a gateway',
    resource: from({ httpRoute: { parentRefs: [{ name: 'gateway', namespace: 'infra' }] } }),
    says: creates('httpRoute', 'httproutes.gateway.networking.k8s.io'),
  },
  {
    what: 'a port of every node',
    resource: from({ service: { type: 'NodePort' } }),
    says: creates('service.type NodePort or LoadBalancer', 'services'),
  },
  {
    what: 'an address outside',
    resource: from({ service: { type: 'LoadBalancer' } }),
    says: creates('service.type NodePort or LoadBalancer', 'services'),
  },
  {
    what: 'a name in DNS',
    resource: from({ service: { annotations: { 'external-dns.alpha.kubernetes.io/hostname': 'pay.example.com' } } }),
    says: creates('service.annotations', 'services'),
  },
  {
    what: 'an autoscaler',
    resource: from(
      { autoscaling: { maxReplicas: 1, metrics: [{ type: 'Object' }] } },
      { state_persistence: { type: 'memory' } },
    ),
    says: creates('autoscaling', 'horizontalpodautoscalers.autoscaling'),
  },
  {
    what: 'no NetworkPolicy',
    resource: from({ networkPolicy: { enabled: false } }),
    says: creates('networkPolicy', 'networkpolicies.networking.k8s.io'),
  },
  {
    what: 'a rule for everywhere',
    resource: from({ networkPolicy: { extraEgress: [{}] } }),
    says: creates('networkPolicy', 'networkpolicies.networking.k8s.io'),
  },
  {
    what: 'a ServiceMonitor',
    resource: from({ serviceMonitor: { enabled: true } }),
    says: creates('serviceMonitor', 'servicemonitors.monitoring.coreos.com'),
  },
  {
    what: 'another namespace’s Service',
    resource: from({}, at('http://kube-dns.kube-system.svc:9153/mcp')),
    says: elsewhere,
  },
  {
    what: 'another namespace’s Service behind a password',
    resource: from({}, at('http://x.own.svc:a@Kube-DNS.kube-system.svc.cluster.local/mcp')),
    says: 'needs the right to get services in namespace',
  },
  {
    what: 'another namespace’s Service in escapes',
    resource: from({}, at('http://kube-dns.kube-system.%73vc/mcp')),
    says: allServices,
  },
  {
    what: 'another namespace’s Service by a variable',
    resource: from({ env: [{ name: 'HOST', value: 'kube-dns.kube-system.svc' }] }, at('http://${HOST}/mcp')),
    says: elsewhere,
  },
  {
    what: 'another namespace’s Service as an API',
    resource: scraped({
      source: {
        name: NAME,
        frequency: '1h',
        baseUrl: 'http://kube-dns.kube-system.svc:9153',
        endpoint: '/',
        scrape: { type: 'instant' },
        gaugeReadings: [{ name: 'g', dataKey: 'value' }],
      },
    }),
    says: elsewhere,
  },
  { what: 'another image of scrapers', resource: scraped({ image: 'evil:1' }), says: pods('image') },
  {
    what: 'a Secret in a source',
    resource: scraped({ env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] }),
    says: getsSecret,
  },
  {
    what: 'a sidecar of scrapers',
    resource: scraped({ podOverlay: { spec: container({}) } }),
    says: pods('podOverlay'),
  },
];

/** What nobody gets from an overlay, as long as the operator’s podOverlay is `restricted`. */
export const NEVER: readonly Way[] = [
  { what: 'a node by name', resource: overlay({ nodeName: 'node1' }), says: not('nodeName') },
  {
    what: 'a token',
    resource: overlay({ automountServiceAccountToken: true }),
    says: not('automountServiceAccountToken'),
  },
  {
    what: 'a token as a volume',
    resource: overlay(volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } })),
    says: not('a token of its account'),
  },

  {
    what: 'another account',
    resource: overlay({ serviceAccountName: THEIRS.account }),
    says: not('serviceAccountName'),
  },
  {
    what: 'another account by its old name',
    resource: overlay({ serviceAccount: THEIRS.account }),
    says: not('serviceAccount'),
  },
  { what: 'the network of the node', resource: overlay({ hostNetwork: true }), says: not('hostNetwork') },
  { what: 'the processes of the node', resource: overlay({ hostPID: true }), says: not('hostPID') },
  { what: 'the memory of the node', resource: overlay({ hostIPC: true }), says: not('hostIPC') },
  {
    what: 'files of the node',
    resource: overlay(volume({ hostPath: { path: '/' } })),
    says: not('a volume that is not of the namespace'),
  },
  {
    what: 'files of a server',
    resource: overlay(volume({ nfs: { server: 'a', path: '/' } })),
    says: not('a volume that is not of the namespace'),
  },
  {
    what: 'a port of the node',
    resource: overlay(container({ ports: [{ containerPort: 1, hostPort: 1 }] })),
    says: not('hostPort'),
  },
  {
    what: 'privileges',
    resource: overlay(container({ securityContext: { privileged: true } })),
    says: not('securityContext.privileged'),
  },
  {
    what: 'the way to privileges',
    resource: overlay(container({ securityContext: { allowPrivilegeEscalation: true } })),
    says: not('securityContext.allowPrivilegeEscalation'),
  },
  { what: 'root', resource: overlay({ securityContext: { runAsUser: 0 } }), says: not('securityContext.runAsUser') },
  {
    what: 'root in a container',
    resource: overlay(container({ securityContext: { runAsNonRoot: false } })),
    says: not('securityContext.runAsNonRoot'),
  },
  {
    what: 'a capability',
    resource: overlay(container({ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } })),
    says: not('securityContext.capabilities'),
  },
  {
    what: 'all system calls',
    resource: overlay({ securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    says: not('securityContext.seccompProfile'),
  },
];

/** What the operator refuses of everybody, with the field that is wrong. */
export const INVALID: readonly Way[] = [
  ...['NODE_OPTIONS', 'LD_PRELOAD', 'NODE_EXTRA_CA_CERTS', 'HTTPS_PROXY'].map((name) => ({
    what: `a variable that is code or a detour (${name})`,
    resource: from({ env: [{ name, value: 'x' }] }),
    says: 'spec.env[0].name',
  })),
  {
    what: 'labels that join a Service',
    resource: from({ podOverlay: { metadata: { labels: { app: 'billing' } } } }),
    says: 'spec.podOverlay.metadata.labels.app',
  },
  {
    what: 'a priority of the system',
    resource: overlay({ priorityClassName: 'system-node-critical' }),
    says: 'spec.podOverlay.spec.priorityClassName',
  },
  {
    what: 'somebody else’s claim as a volume',
    resource: overlay(volume({ persistentVolumeClaim: { claimName: THEIRS.claim } })),
    says: 'spec.podOverlay.spec.volumes[0].persistentVolumeClaim.claimName',
  },
  ...[
    '169.254.169.254',
    '[64:ff9b::a9fe:a9fe]',
    '[2002:a9fe:a9fe::]',
    '[::a9fe:a9fe]',
    '100.100.100.200',
    '168.63.129.16',
    'kubernetes.default.svc',
  ].map((host) => ({
    what: `credentials of the cloud, or the API server (${host})`,
    resource: from({}, at(`http://${host}/mcp`)),
    says: 'spec.config.servers[0].upstream.url leads to',
  })),
];

/** What the right on the two kinds is worth by itself, as docs/operator/rights.md says. */
export const FREE: readonly Omit<Way, 'says'>[] = [
  { what: 'an upstream at any address that is not blocked', resource: from({}, at('http://10.0.0.1:10250/mcp')) },
  {
    what: 'a name that could be one outside the cluster',
    resource: from({}, at('http://kube-dns.kube-system:53/mcp')),
  },
  {
    what: 'as many pods as the quota of the namespace lets it',
    resource: from(
      { replicas: 1000 },
      { state_persistence: { type: 'redis', redis: { host: 'redis' } }, storage: { s3: { bucket: 'files' } } },
    ),
  },
  { what: 'a place in somebody’s group', resource: scraped({}) },
];
