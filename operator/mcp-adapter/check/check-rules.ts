import { type Problem, dottedPath } from '../../../crds/config/load/problem.ts';
import { withoutEndSlashes } from '../../../lib/slashes.ts';
import { type Path, valueAt } from '../../../lib/json/tree.ts';
import { MAX_PATTERN } from '../../../crds/v1alpha1/limits.ts';
import type { Budget } from '../../tasks/budget.ts';
import { type Blocking, blockedFields } from '../../validation/blocked.ts';
import { isUnknown, uncheckedResolver } from '../../validation/known-values.ts';
import { patternError } from '../../tasks/patterns.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';
import { connectionsOf } from '../config/connections.ts';
import { isLoopback } from '../config/loopback.ts';

/**
 * Rules of a McpAdapter that concern more than one field, or what only a pod makes of a value. The CRD says what it can
 * of them in CEL. They read unchecked JSON and say nothing about what they cannot judge.
 *
 * @param existingClaimModes of the claim that the spec names; undefined when they are not known
 * @throws BudgetError when it takes too long
 */
export function ruleProblems(
  resource: unknown,
  existingClaimModes: readonly string[] | undefined,
  blocking: Blocking,
  budget: Budget,
): Problem[] {
  budget.step('spec.config');
  const known = withKnownValues(resource);
  const violations = [...RULES.flatMap((rule) => rule(known, existingClaimModes)), ...toolPatterns(known, budget)];
  return [
    ...violations.map(({ at, message }) => ({ path: dottedPath(at), message })),
    ...blockedUpstreams(known, blocking),
  ];
}

/** The resource with the values of its own variables in its configuration. */
function withKnownValues(resource: unknown): unknown {
  const spec = valueAt(resource, ['spec']);
  if (!isObject(spec)) return resource;
  return { spec: { ...spec, config: uncheckedResolver(spec)(spec['config']) } };
}

interface Violation {
  at: Path;
  /** A sentence without its subject, which is the path. */
  message: string;
}
type Rule = (resource: unknown, existingClaimModes?: readonly string[]) => Violation[];

const CONFIG = ['spec', 'config'] as const;

/** The operator mounts the storage there, so it must know the folder before any pod runs. */
const writtenOut: Rule = (resource) => {
  const at = [...CONFIG, 'storage', 'root'];
  const message = 'must not depend on a Secret, a ConfigMap or envFrom: the storage is mounted there; write it out';
  return isUnknown(textAt(resource, ...at)) ? [{ at, message }] : [];
};

const reachableHost: Rule = (resource) => {
  const at = [...CONFIG, 'core', 'host'];
  const host = textAt(resource, ...at)?.trim() ?? '';
  const message = `is ${host}, a loopback address that no probe and no Service can reach; leave it out, or write 0.0.0.0`;
  return isLoopback(host) ? [{ at, message }] : [];
};

/** The Service and the NetworkPolicy name the port before any pod runs. */
const knownMetricsPort: Rule = (resource) =>
  ['enabled', 'host', 'port', 'path'].flatMap((name) => {
    const at = [...CONFIG, 'telemetry', 'prometheus', name];
    const message = 'must not depend on a Secret, a ConfigMap or envFrom: a Service has to lead there; write it out';
    return isUnknown(valueAt(resource, at)) ? [{ at, message }] : [];
  });

/** Folders of a pod that are mounted already, or are none of ours. */
const TAKEN = ['/etc/mcp-adapter', '/var/run/mcp-references', '/var/run/secrets', '/app', '/proc', '/sys', '/dev'];

const mountableRoot: Rule = (resource) => {
  const at = [...CONFIG, 'storage', 'root'];
  const root = textAt(resource, ...at)?.trim();
  if (root === undefined || isUnknown(root)) return [];
  const path = withoutEndSlashes(root);
  if (!root.startsWith('/') || path === '' || /\/\.{1,2}(\/|$)|:/.test(root)) {
    return [{ at, message: 'must be an absolute path other than /, without : and .. : the storage is mounted there' }];
  }
  const taken = TAKEN.find((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));
  return taken === undefined ? [] : [{ at, message: `overlaps with ${taken}, which has another use in the pods` }];
};

/** Two pods share neither memory nor a file of SQLite, and not a volume that only one node can mount. */
const severalReplicas: Rule = (resource, existingClaimModes) => {
  const autoscaled = numberAt(resource, 'spec', 'autoscaling', 'maxReplicas');
  const most = autoscaled ?? numberAt(resource, 'spec', 'replicas') ?? 1;
  if (most <= 1) return [];
  const why = `with up to ${most} replicas (${autoscaled === undefined ? 'spec.replicas' : 'spec.autoscaling.maxReplicas'})`;
  const state = [...CONFIG, 'state_persistence', 'type'];
  const type = textAt(resource, ...state) ?? 'disk';
  const problems: Violation[] = [];
  if (type !== 'redis' && !isUnknown(type)) {
    problems.push({ at: state, message: `must be redis ${why}, not ${type}: replicas share their sessions there` });
  }
  const storage = valueAt(resource, ['spec', 'storage']);
  if (textAt(storage, 'existingClaim') !== undefined) {
    if (existingClaimModes?.includes('ReadWriteMany') ?? true) return problems;
    const message = `is a claim with ${existingClaimModes?.join(', ')}; it must have ReadWriteMany ${why}: replicas share their files there`;
    return [...problems, { at: ['spec', 'storage', 'existingClaim'], message }];
  }
  if (valueAt(storage, ['claim']) === undefined) {
    // Each pod has a folder of its own then, and fetches from the bucket what another one has written.
    if (isObject(valueAt(resource, [...CONFIG, 'storage', 's3']))) return problems;
    const message = `needs claim or existingClaim ${why}, or spec.config.storage needs s3: replicas share their files there`;
    return [...problems, { at: ['spec', 'storage'], message }];
  }
  if (!listAt(storage, 'claim', 'accessModes').includes('ReadWriteMany')) {
    const message = `must hold ReadWriteMany ${why}: replicas share their files there`;
    problems.push({ at: ['spec', 'storage', 'claim', 'accessModes'], message });
  }
  return problems;
};

const orderedReplicas: Rule = (resource) => {
  const at = ['spec', 'autoscaling', 'minReplicas'];
  const most = numberAt(resource, 'spec', 'autoscaling', 'maxReplicas');
  const least = numberAt(resource, ...at);
  if (most === undefined || least === undefined || least <= most) return [];
  return [{ at, message: `is ${least}, more than maxReplicas (${most})` }];
};

const oneKindOfStorage: Rule = (resource) =>
  atMostOne(resource, ['spec', 'storage'], ['claim', 'existingClaim', 'temporary']);

const oneBudget: Rule = (resource) =>
  atMostOne(resource, ['spec', 'disruptionBudget'], ['minAvailable', 'maxUnavailable']);

const variables: Rule = (resource) => {
  const first = new Map<string, number>();
  return listAt(resource, 'spec', 'env').flatMap((variable, index) => {
    const at = ['spec', 'env', index];
    const name = textAt(variable, 'name') ?? '';
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    return [
      ...(earlier === undefined ? [] : [{ at: [...at, 'name'], message: `is also the name of spec.env[${earlier}]` }]),
      ...atMostOne(resource, at, ['value', 'valueFrom']),
      ...exactlyOne(resource, [...at, 'valueFrom'], ['secretKeyRef', 'configMapKeyRef']),
    ];
  });
};

const variableSources: Rule = (resource) =>
  listAt(resource, 'spec', 'envFrom').flatMap((_, index) =>
    exactlyOne(resource, ['spec', 'envFrom', index], ['secretRef', 'configMapRef']),
  );

const nodePort: Rule = (resource) => {
  const at = ['spec', 'service', 'nodePort'];
  const type = textAt(resource, 'spec', 'service', 'type') ?? 'ClusterIP';
  if (numberAt(resource, ...at) === undefined || type !== 'ClusterIP') return [];
  return [{ at, message: 'needs spec.service.type NodePort or LoadBalancer' }];
};

/** The adapter skips such a pattern with a warning; here there is somebody to tell before it serves what was to hide. */
const toolPatterns = (resource: unknown, budget: Budget): Violation[] =>
  listAt(resource, ...CONFIG, 'servers').flatMap((server, index) =>
    listAt(server, 'disabled_tools').flatMap((pattern, position) => {
      if (typeof pattern !== 'string' || isUnknown(pattern)) return [];
      const at = [...CONFIG, 'servers', index, 'disabled_tools', position];
      // A value of spec.env may be longer than what is allowed here.
      const reason =
        pattern.length > MAX_PATTERN
          ? `it has ${pattern.length} characters, at most ${MAX_PATTERN} are allowed`
          : patternError(pattern, dottedPath(at), budget);
      return reason === undefined ? [] : [{ at, message: `is no valid regular expression (RE2): ${reason}` }];
    }),
  );

/** Upstreams, and whatever else the adapter connects to. */
function blockedUpstreams(resource: unknown, blocking: Blocking): Problem[] {
  const config = valueAt(resource, CONFIG);
  const connections = connectionsOf(config, textAt(config, 'state_persistence', 'type') ?? 'disk');
  return blockedFields(connections, blocking).map(({ field, message }) => ({
    path: `${dottedPath(CONFIG)}.${field}`,
    message,
  }));
}

const RULES: readonly Rule[] = [
  writtenOut,
  reachableHost,
  knownMetricsPort,
  mountableRoot,
  severalReplicas,
  orderedReplicas,
  oneKindOfStorage,
  oneBudget,
  variables,
  variableSources,
  nodePort,
];

function atMostOne(resource: unknown, at: Path, names: readonly string[]): Violation[] {
  const set = names.filter((name) => valueAt(resource, [...at, name]) !== undefined);
  return set.length <= 1 ? [] : [{ at, message: `can have only one of ${names.join(', ')}, not ${set.join(' and ')}` }];
}

function exactlyOne(resource: unknown, at: Path, names: readonly string[]): Violation[] {
  const value = valueAt(resource, at);
  if (!isObject(value)) return [];
  if (names.some((name) => value[name] !== undefined)) return atMostOne(resource, at, names);
  return [{ at, message: `needs one of ${names.join(', ')}` }];
}
