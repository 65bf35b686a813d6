import { AdapterConfig } from '../config/adapter-file/adapter.ts';
import { CONFIG_LIMITS } from '../v1alpha1/limits.ts';
import { McpAdapterSpec, McpAdapterStatus } from '../v1alpha1/mcp-adapter.ts';
import { type Amendments, amend } from './amend.ts';
import { type CelRule, customResourceDefinition, type PrinterColumn } from './custom-resource-definition.ts';
import { inputSchema } from './json-schema.ts';
import { CLAIM_AMENDMENTS, CONDITION_LIST, POD_FIELD_AMENDMENTS } from './pod-fields.ts';
import { withLimits } from './limit-amendments.ts';
import { type StructuralSchema, structuralSchema } from './structural-schema.ts';

/**
 * The CustomResourceDefinition of McpAdapter. A rule stands at the smallest value that it is about: the API server does
 * not ask it again while that value stays the same, so a rule that is new does not block changes elsewhere.
 */

const READY = '.status.conditions[?(@.type=="Ready")]';

const COLUMNS: readonly PrinterColumn[] = [
  { name: 'Ready', type: 'string', jsonPath: `${READY}.status`, description: 'Whether it serves what the spec says.' },
  { name: 'Replicas', type: 'integer', jsonPath: '.status.readyReplicas', description: 'Pods that serve.' },
  { name: 'Upstreams', type: 'string', jsonPath: '.status.upstreamsHealthy', description: 'Healthy upstreams of all.' },
  { name: 'URL', type: 'string', jsonPath: '.status.url', description: 'Where clients reach it.' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Time since it was created.' },
  { name: 'Reason', type: 'string', jsonPath: `${READY}.reason`, description: 'Why, in one word.', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: `${READY}.message`, description: 'Why.', priority: 1 },
];

/** Children are named after the resource; the Service is the one with the strictest rule. */
const NAME: CelRule = {
  rule: "oldSelf.hasValue() || (self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$'))",
  message: 'metadata.name must be a DNS label of at most 52 characters that starts with a letter',
  optionalOldSelf: true,
};

const replicas = (spec: string): string =>
  `(has(${spec}.autoscaling) ? ${spec}.autoscaling.maxReplicas : ${spec}.replicas)`;

/** Also when the type is a reference: only the program can read that. */
const sharedState = (spec: string): string => {
  const state = `${spec}.config.state_persistence`;
  return `(has(${state}) && ${state} != null && has(${state}.type) && !(${state}.type in ['memory', 'disk']))`;
};

const existingClaim = (spec: string): string => `(has(${spec}.storage) && has(${spec}.storage.existingClaim))`;
const ownClaim = (spec: string): string => `(has(${spec}.storage) && has(${spec}.storage.claim))`;
/** Pods with a folder each fetch from the bucket what another one has written; a claim must be shared all the same. */
const bucket = (spec: string): string => {
  const storage = `${spec}.config.storage`;
  return `(!${ownClaim(spec)} && has(${storage}) && ${storage} != null && has(${storage}.s3) && ${storage}.s3 != null)`;
};
const sharedStorage = (spec: string): string =>
  `(${existingClaim(spec)} || ${bucket(spec)} || (${ownClaim(spec)} && has(${spec}.storage.claim.accessModes) && ` +
  `'ReadWriteMany' in ${spec}.storage.claim.accessModes))`;

const OLD = 'oldSelf.value()';
const oldSeveral = `oldSelf.hasValue() && ${replicas(OLD)} > 1`;

/**
 * These rules are about most of the spec, so they are asked again with every change of it. What was wrong before does
 * not block a change: the operator still says so in a condition.
 */
const SEVERAL_REPLICAS: readonly CelRule[] = [
  {
    rule: `${replicas('self')} <= 1 || ${sharedState('self')} || (${oldSeveral} && !${sharedState(OLD)})`,
    message: 'more than one replica needs config.state_persistence.type redis: replicas share their sessions there',
    fieldPath: '.config.state_persistence',
    optionalOldSelf: true,
  },
  {
    // The access modes of a claim cannot change, so there is no need to look at the old ones.
    rule:
      `${replicas('self')} <= 1 || ${sharedStorage('self')} || ` +
      `(${oldSeveral} && !${existingClaim(OLD)} && !${bucket(OLD)} && ${ownClaim(OLD)} == ${ownClaim('self')})`,
    message:
      'more than one replica needs storage.claim with accessModes [ReadWriteMany], storage.existingClaim or ' +
      'config.storage.s3: replicas share their files there',
    fieldPath: '.storage',
    optionalOldSelf: true,
  },
];

const text = (maxLength: number) => ({ maxLength });

/** Texts that mean false, or that only the program can read. */
const FALSE = String.raw`^\s*([Ff]([Aa][Ll][Ss][Ee])?|[Nn][Oo]?|[Oo][Ff][Ff]|0)\s*$|\$\{[A-Za-z_]`;

/** At the section, not at the field, because the API server shows the value that a field's own rule refuses. */
const referenceOnly = (field: string): CelRule => ({
  rule: `!has(self.${field}) || dyn(self.${field}) == null || self.${field}.matches('[$][{][A-Za-z_][A-Za-z0-9_]*[}]')`,
  message: `${field} must be a reference such as \${ADAPTER_TOKEN} to a variable of spec.env or spec.envFrom: a secret has no place in this resource`,
  fieldPath: `.${field}`,
});

const inAuth = (auth: StructuralSchema): StructuralSchema => ({ properties: { core: { properties: { auth } } } });

/**
 * Where tokens are asked for, there must be some. CEL cannot read a value that has no type, such as a boolean that may be
 * text. The program knows better what counts: a null, an empty text.
 */
const TOKENS_EXIST: StructuralSchema = {
  anyOf: [
    // The API server tells of the branch of which most holds: of this one, with what always does.
    inAuth({ required: ['token'], properties: { enabled: { maxItems: 0, maxProperties: 0, maximum: 1 } } }),
    inAuth({ required: ['tokens'], properties: { tokens: { minItems: 1 } } }),
    inAuth({ required: ['oauth'] }),
    inAuth({ properties: { enabled: { not: { enum: [true, 1] }, pattern: FALSE } } }),
    { properties: { servers: { items: { required: ['auth'], properties: { auth: { required: ['oauth'] } } } } } },
  ],
};

const stands = (field: string): string => `(has(self.${field}) && dyn(self.${field}) != null)`;

/** Nothing that is asked for is two of these at once. */
const ONE_KIND: CelRule = {
  rule:
    `!(${stands('tools')} && ${stands('resources')}) && !(${stands('tools')} && ${stands('prompts')}) && ` +
    `!(${stands('resources')} && ${stands('prompts')})`,
  message: 'a rule is about tools, resources or prompts: write one rule for each',
};
const ACCESS_RULE = { 'x-kubernetes-validations': [ONE_KIND] };

const OAUTH_SECRETS = { 'x-kubernetes-validations': [referenceOnly('client_secret')] };

const CONFIG: Amendments = {
  'core.auth': {
    'x-kubernetes-validations': [referenceOnly('token'), referenceOnly('signing_secret')],
  },
  'core.auth.token': text(4096),
  'core.auth.signing_secret': text(4096),
  'core.auth.tokens': { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] },
  'core.auth.tokens[]': {
    'x-kubernetes-validations': [
      referenceOnly('token'),
      {
        rule: "self.name != 'default'",
        message: 'name must not be default, which is that of core.auth.token',
        fieldPath: '.name',
      },
    ],
  },
  'core.auth.tokens[].token': text(4096),
  'core.auth.oauth.introspection': OAUTH_SECRETS,
  'core.auth.oauth.introspection.client_secret': text(4096),
  'core.access.rules[]': ACCESS_RULE,
  'servers[].access.rules[]': ACCESS_RULE,
  'servers[].auth.oauth.introspection': OAUTH_SECRETS,
  'servers[].auth.oauth.introspection.client_secret': text(4096),
  state_persistence: {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.type) || self.type != 'redis' || (has(self.redis) && self.redis != null && has(self.redis.host) && dyn(self.redis.host) != null)",
        message: 'redis.host is required when type is redis',
      },
    ],
  },
  servers: {
    maxItems: 256,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['id'],
    'x-kubernetes-validations': [
      {
        rule: "[self.map(s, s.mount_path.replace('/', ' ').trim())].all(paths, paths.all(p, paths.exists_one(q, q == p)))",
        message: 'mount_path must be unique among the servers',
      },
    ],
  },
  'servers[].id': text(253),
  'servers[].mount_path': text(512),
};

const SPEC: Amendments = {
  ...POD_FIELD_AMENDMENTS,
  ...CLAIM_AMENDMENTS,
  // The only default in a schema: `kubectl scale` and autoscalers read it. Others would show as drift to GitOps tools.
  replicas: { default: 1, format: 'int32' },
  storage: {
    'x-kubernetes-validations': [
      {
        rule: '[has(self.claim), has(self.existingClaim), has(self.temporary)].filter(one, one).size() <= 1',
        message: 'can have only one of claim, existingClaim and temporary',
      },
    ],
  },
  service: {
    'x-kubernetes-validations': [
      {
        rule: "!has(self.nodePort) || (has(self.type) && self.type != 'ClusterIP')",
        message: 'nodePort needs type NodePort or LoadBalancer',
        fieldPath: '.nodePort',
      },
    ],
  },
  autoscaling: {
    'x-kubernetes-validations': [
      {
        rule: '!has(self.minReplicas) || self.minReplicas <= self.maxReplicas',
        message: 'minReplicas cannot be more than maxReplicas',
        fieldPath: '.minReplicas',
      },
    ],
  },
  disruptionBudget: {
    'x-kubernetes-validations': [
      {
        rule: '!(has(self.minAvailable) && has(self.maxUnavailable))',
        message: 'can have only one of minAvailable and maxUnavailable',
      },
    ],
  },
};

const STATUS: Amendments = {
  ...CONDITION_LIST,
  replicas: { format: 'int32' },
  readyReplicas: { format: 'int32' },
  upstreams: { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['id'] },
};

export function mcpAdapterCrd(): object {
  const config = structuralSchema(inputSchema(AdapterConfig), { references: true }, 'spec.config');
  const spec = structuralSchema(inputSchema(McpAdapterSpec.omit({ config: true })), { references: false }, 'spec');
  const description =
    'The configuration file of the adapter, exactly as it would stand in the file. Any text may hold `${VAR}` or ' +
    '`${VAR:-default}`, with variables of `spec.env` and `spec.envFrom`; numbers and booleans may stand as text. ' +
    'Write `"null"` where null means something: a client-side `kubectl apply` leaves a bare null out.';
  return customResourceDefinition({
    kind: 'McpAdapter',
    shortName: 'mcpa',
    description: 'A gateway in front of MCP servers: their tools, with uploads, artifacts, sessions and health checks.',
    name: 'a DNS label of at most 52 characters that starts with a letter, because all that is made for it, such as its Service, is named after it',
    columns: COLUMNS,
    spec: {
      ...amend(spec, SPEC),
      properties: {
        config: { ...withLimits(amend(config, CONFIG), CONFIG_LIMITS), ...TOKENS_EXIST, description },
        ...amend(spec, SPEC).properties,
      },
      required: ['config'],
      'x-kubernetes-validations': SEVERAL_REPLICAS,
    },
    status: amend(structuralSchema(inputSchema(McpAdapterStatus), { references: false }, 'status'), STATUS),
    scales: true,
    rules: [NAME],
  });
}
