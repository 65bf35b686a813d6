import { describe, expect, it } from 'vitest';
import { UsageError } from './command-line.ts';
import { USAGE, readOptions } from './options.ts';

describe('options', () => {
  it('have defaults', () => {
    expect(readOptions([], {})).toEqual({
      action: 'run',
      namespaces: { kind: 'all' },
      image: 'mcp-adapter',
      otlpEndpoint: undefined,
      podSecurity: 'restricted',
      permissions: { podOverlay: 'restricted', literalSecrets: false, apiServer: [] },
      metricsPort: 8080,
      leaderElection: true,
      leaseName: 'mcp-operator',
      leaseNamespace: undefined,
      kubeconfig: undefined,
      logLevel: 'info',
    });
  });

  it.each<[string[], Record<string, string>, object]>([
    [['--namespaces=a, b,a'], {}, { namespaces: { kind: 'list', names: ['a', 'b'] } }],
    [['--namespace-selector', 'team=blue'], {}, { namespaces: { kind: 'selector', labelSelector: 'team=blue' } }],
    [[], { MCP_OPERATOR_NAMESPACES: 'a' }, { namespaces: { kind: 'list', names: ['a'] } }],
    [['--image=x:1'], { MCP_OPERATOR_IMAGE: 'y:2' }, { image: 'x:1' }],
    [[], { MCP_OPERATOR_IMAGE: 'y:2' }, { image: 'y:2' }],
    [['--no-leader-election'], {}, { leaderElection: false }],
    [[], { MCP_OPERATOR_LEADER_ELECTION: 'false' }, { leaderElection: false }],
    [['--leader-election'], { MCP_OPERATOR_LEADER_ELECTION: 'false' }, { leaderElection: true }],
    [[], { POD_NAMESPACE: 'mcp-system' }, { leaseNamespace: 'mcp-system' }],
    [['--lease-namespace=x'], { POD_NAMESPACE: 'mcp-system' }, { leaseNamespace: 'x' }],
    [['--pod-overlay=none'], {}, { permissions: { podOverlay: 'none' } }],
    [[], { MCP_OPERATOR_POD_OVERLAY: 'all' }, { permissions: { podOverlay: 'all' } }],
    [['--allow-literal-secrets'], {}, { permissions: { literalSecrets: true } }],
    [[], { MCP_OPERATOR_ALLOW_LITERAL_SECRETS: 'true' }, { permissions: { literalSecrets: true } }],
    [[], { KUBERNETES_SERVICE_HOST: '10.96.0.1' }, { permissions: { apiServer: ['10.96.0.1'] } }],
    [['--allow-api-server'], { KUBERNETES_SERVICE_HOST: '10.96.0.1' }, { permissions: { apiServer: undefined } }],
    [['--metrics-port=0'], {}, { metricsPort: 0 }],
    [['--pod-security=openshift', '--log-level=debug'], {}, { podSecurity: 'openshift', logLevel: 'debug' }],
    [['--help', '--otlp-endpoint=http://c:4317'], {}, { action: 'help', otlpEndpoint: 'http://c:4317' }],
    [['--version'], {}, { action: 'version' }],
  ])('%j with %j', (args, env, expected) => {
    expect(readOptions(args, env)).toMatchObject(expected);
  });

  it.each<[string[], Record<string, string>, string]>([
    [['--nonsense'], {}, "Unknown option '--nonsense'"],
    [['extra'], {}, "Unexpected argument 'extra'"],
    [['--namespaces=a', '--namespace-selector=b'], {}, 'cannot be used together'],
    [['--namespaces=A_B'], {}, '"A_B" cannot be the name of a namespace'],
    [['--namespaces=,'], {}, 'names none'],
    [['--pod-security=none'], {}, '--pod-security must be one of restricted, openshift, not "none"'],
    [['--pod-overlay=some'], {}, '--pod-overlay must be one of none, restricted, all, not "some"'],
    [['--log-level=loud'], {}, '--log-level must be one of'],
    [['--metrics-port=99999'], {}, '--metrics-port must be a number from 0 to 65535'],
    [[], { MCP_OPERATOR_LEADER_ELECTION: 'maybe' }, 'MCP_OPERATOR_LEADER_ELECTION must be true or false'],
  ])('%j with %j are refused', (args, env, message) => {
    expect(() => readOptions(args, env)).toThrow(UsageError);
    expect(() => readOptions(args, env)).toThrow(message);
  });

  it('are all in the help', () => {
    for (const name of [
      'namespaces',
      'namespace-selector',
      'image',
      'otlp-endpoint',
      'pod-security',
      'pod-overlay',
      'allow-literal-secrets',
      'allow-api-server',
      'metrics-port',
      'leader-election',
      'lease-name',
      'lease-namespace',
      'kubeconfig',
      'log-level',
    ]) {
      expect(USAGE).toContain(`--${name} `);
    }
  });
});
