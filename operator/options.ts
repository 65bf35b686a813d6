import { UsageError, readArgs, wordOf } from './command-line.ts';
import { POD_OVERLAYS, type Permissions } from './validation/permissions.ts';
import type { NamespaceScope } from './cache/namespaces.ts';

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
const POD_SECURITY = ['restricted', 'openshift'] as const;
const DEFAULT_IMAGE = 'mcp-adapter';
const DEFAULT_LEASE = 'mcp-operator';

export interface Options {
  readonly action: 'run' | 'help' | 'version';
  readonly namespaces: NamespaceScope;
  /** Of pods whose resource names none. */
  readonly image: string;
  readonly otlpEndpoint: string | undefined;
  readonly podSecurity: (typeof POD_SECURITY)[number];
  readonly permissions: Permissions;
  /** 0 takes a free one. */
  readonly metricsPort: number;
  readonly leaderElection: boolean;
  readonly leaseName: string;
  /** Undefined: where the operator runs. */
  readonly leaseNamespace: string | undefined;
  readonly kubeconfig: string | undefined;
  readonly logLevel: (typeof LEVELS)[number];
}

export const USAGE = `Usage: mcp-operator [run] [options]
       mcp-operator local PATH...
       mcp-operator render -f PATH...
       mcp-operator validate -f PATH...
       mcp-operator lock create|diff|approve -f PATH...

run keeps what McpAdapters, ApiScrapeSources and McpToolLocks describe in a Kubernetes cluster. The other commands have their own
--help: local runs resources from files on this machine, render prints what would be made of them, validate says
what is wrong with them, and lock compares the tools of their servers with a McpToolLock.

Options of run, each also as a variable in the environment:
  --namespaces A,B           namespaces to look after (MCP_OPERATOR_NAMESPACES; default: all)
  --namespace-selector K=V   instead: those whose labels match (MCP_OPERATOR_NAMESPACE_SELECTOR)
  --image IMAGE              image of pods whose resource names none (MCP_OPERATOR_IMAGE; default: ${DEFAULT_IMAGE})
  --otlp-endpoint URL        collector of scrapers whose sources name none (MCP_OPERATOR_OTLP_ENDPOINT)
  --pod-security WORD        restricted, or openshift, where the cluster gives pods their ids (MCP_OPERATOR_POD_SECURITY)
  --pod-overlay WORD         what podOverlay and image of resources may do: none, restricted (nothing that leaves the pod for
                             its node, another account or another's Service), all (MCP_OPERATOR_POD_OVERLAY; restricted)
  --allow-literal-secrets    secrets may stand in resources as they are (MCP_OPERATOR_ALLOW_LITERAL_SECRETS=true|false; false)
  --allow-api-server         pods may connect to the API server (MCP_OPERATOR_ALLOW_API_SERVER=true|false; false)
  --metrics-port NUMBER      port of /livez, /readyz and /metrics; 0 takes a free one (MCP_OPERATOR_METRICS_PORT; 8080)
  --leader-election          of several operators one works at a time; --no-leader-election: there is only one
                             (MCP_OPERATOR_LEADER_ELECTION=true|false; default: true)
  --lease-name NAME          Lease by which they agree (MCP_OPERATOR_LEASE_NAME; default: ${DEFAULT_LEASE})
  --lease-namespace NAME     its namespace (MCP_OPERATOR_LEASE_NAMESPACE; default: that of the operator, or default)
  --kubeconfig FILE          instead of $KUBECONFIG, the ServiceAccount of the pod, or ~/.kube/config
  --log-level LEVEL          ${LEVELS.join(', ')} (MCP_OPERATOR_LOG_LEVEL; default: info)
  --version                  print the version and exit
  --help                     print this text and exit

It ends with 0 after SIGTERM or SIGINT, with 1 when it cannot go on, and with 2 when the command line is wrong.
`;

type Environment = Readonly<Record<string, string | undefined>>;

/** Options of the command `run`. @throws UsageError */
export function readOptions(args: readonly string[], env: Environment): Options {
  const values = parse(args);
  const setting = (name: keyof typeof values): string | undefined => {
    const value = values[name];
    if (typeof value === 'string') return value;
    return env[variableOf(name)] || undefined;
  };
  return {
    action: values.help ? 'help' : values.version ? 'version' : 'run',
    namespaces: scopeOf(setting('namespaces'), setting('namespace-selector')),
    image: setting('image') ?? DEFAULT_IMAGE,
    otlpEndpoint: setting('otlp-endpoint'),
    podSecurity: wordOf('pod-security', setting('pod-security') ?? 'restricted', POD_SECURITY),
    permissions: {
      podOverlay: wordOf('pod-overlay', setting('pod-overlay') ?? 'restricted', POD_OVERLAYS),
      literalSecrets: values['allow-literal-secrets'] ?? flagOf('allow-literal-secrets', env) ?? false,
      apiServer: (values['allow-api-server'] ?? flagOf('allow-api-server', env)) ? undefined : apiServerOf(env),
    },
    metricsPort: portOf(setting('metrics-port') ?? '8080'),
    leaderElection: values['leader-election'] ?? flagOf('leader-election', env) ?? true,
    leaseName: setting('lease-name') ?? DEFAULT_LEASE,
    leaseNamespace: setting('lease-namespace') ?? (env['POD_NAMESPACE'] || undefined),
    kubeconfig: values.kubeconfig,
    logLevel: wordOf('log-level', setting('log-level') ?? 'info', LEVELS),
  };
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    allowNegative: true,
    options: {
      namespaces: { type: 'string' },
      'namespace-selector': { type: 'string' },
      image: { type: 'string' },
      'otlp-endpoint': { type: 'string' },
      'pod-security': { type: 'string' },
      'pod-overlay': { type: 'string' },
      'allow-literal-secrets': { type: 'boolean' },
      'allow-api-server': { type: 'boolean' },
      'metrics-port': { type: 'string' },
      'leader-election': { type: 'boolean' },
      'lease-name': { type: 'string' },
      'lease-namespace': { type: 'string' },
      kubeconfig: { type: 'string' },
      'log-level': { type: 'string' },
      version: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  }).values;
}

const variableOf = (option: string): string => `MCP_OPERATOR_${option.replaceAll('-', '_').toUpperCase()}`;

/** The kubelet tells each pod the address of the Service `kubernetes`. */
const apiServerOf = (env: Environment): string[] =>
  env['KUBERNETES_SERVICE_HOST'] ? [env['KUBERNETES_SERVICE_HOST']] : [];

function scopeOf(list: string | undefined, labelSelector: string | undefined): NamespaceScope {
  if (list !== undefined && labelSelector !== undefined) {
    throw new UsageError('--namespaces and --namespace-selector cannot be used together');
  }
  if (labelSelector !== undefined) return { kind: 'selector', labelSelector };
  if (list === undefined) return { kind: 'all' };
  const names = [...new Set(list.split(',').map((name) => name.trim()))].filter((name) => name !== '');
  const wrong = names.find((name) => name.length > 63 || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name));
  if (wrong !== undefined) throw new UsageError(`--namespaces: "${wrong}" cannot be the name of a namespace`);
  if (names.length === 0) throw new UsageError('--namespaces names none');
  return { kind: 'list', names };
}

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new UsageError(`--metrics-port must be a number from 0 to 65535, not "${text}"`);
}

function flagOf(option: string, env: Environment): boolean | undefined {
  const value = env[variableOf(option)];
  if (value === undefined || value === '') return undefined;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new UsageError(`${variableOf(option)} must be true or false, not "${value}"`);
}
