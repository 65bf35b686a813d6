import { MAX_LOCKED, MAX_LOCKED_SERVERS } from '../config/lock-file/lock-document.ts';
import { MAX_PENDING, McpToolLockSpec, McpToolLockStatus } from '../v1alpha1/mcp-tool-lock.ts';
import { type Amendments, amend } from './amend.ts';
import { customResourceDefinition, type PrinterColumn } from './custom-resource-definition.ts';
import { inputSchema } from './json-schema.ts';
import { CONDITION_LIST } from './pod-fields.ts';
import { structuralSchema } from './structural-schema.ts';

/** The CustomResourceDefinition of McpToolLock. */

const READY = '.status.conditions[?(@.type=="Ready")]';

const COLUMNS: readonly PrinterColumn[] = [
  { name: 'Adapter', type: 'string', jsonPath: '.spec.adapterRef.name', description: 'Whose lock it is.' },
  { name: 'Mode', type: 'string', jsonPath: '.spec.mode', description: 'What becomes of definitions that differ.' },
  { name: 'Ready', type: 'string', jsonPath: `${READY}.status`, description: 'Whether pods compare with it.' },
  { name: 'Drifted', type: 'integer', jsonPath: '.status.drifted', description: 'Definitions that differ.' },
  { name: 'New', type: 'integer', jsonPath: '.status.added', description: 'Definitions that it does not name.' },
  { name: 'Since', type: 'date', jsonPath: '.status.lastCompared', description: 'For how long it has been so.' },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Time since it was created.' },
  { name: 'Reason', type: 'string', jsonPath: `${READY}.reason`, description: 'Why, in one word.', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: `${READY}.message`, description: 'Why.', priority: 1 },
];

/**
 * One owner for the whole map: the API server notes an owner for each key otherwise, which makes a lock of 1,000 tools
 * twice as large.
 */
const atomic = (maxProperties: number) => ({ 'x-kubernetes-map-type': 'atomic', maxProperties });

const SPEC: Amendments = {
  adapterRef: { 'x-kubernetes-map-type': 'atomic' },
  servers: atomic(MAX_LOCKED_SERVERS),
  'servers.*.tools': { maxProperties: MAX_LOCKED },
  'servers.*.prompts': { maxProperties: MAX_LOCKED },
  'servers.*.resourceTemplates': { maxProperties: MAX_LOCKED },
};

const STATUS: Amendments = {
  ...CONDITION_LIST,
  adapters: { maxItems: 1, 'x-kubernetes-list-type': 'atomic' },
  pending: { maxItems: MAX_PENDING, 'x-kubernetes-list-type': 'atomic' },
};

const OWN = { references: false };

export function mcpToolLockCrd(): object {
  return customResourceDefinition({
    kind: 'McpToolLock',
    shortName: 'mcptl',
    description:
      'What the tools, prompts, resource templates and instructions of an adapter’s servers are. Pods hide or mark what differs.',
    name: 'any name that the API server takes',
    columns: COLUMNS,
    spec: amend(structuralSchema(inputSchema(McpToolLockSpec), OWN, 'spec'), SPEC),
    status: amend(structuralSchema(inputSchema(McpToolLockStatus), OWN, 'status'), STATUS),
    scales: false,
    rules: [],
  });
}
