import { shownName } from './diff-text.ts';
import type { LockChange } from './lock-diff.ts';

const SCHEMA = 'https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json';

const RULES = [
  ['definition-changed', 'error', 'A definition is not what was approved.'],
  ['definition-new', 'warning', 'The lock does not name a definition that the upstream has.'],
  ['definition-removed', 'warning', 'The lock names a definition that the upstream does not have.'],
] as const;

export interface SarifRun {
  readonly changes: readonly LockChange[];
  /** What kept the command from looking at all: an upstream that did not answer. */
  readonly failures: readonly string[];
  /** The lock's file, as a relative URI or an address; without one, places in it are not told. */
  readonly uri: string;
  /** The line where the lock has a definition, or what is nearest above it. */
  readonly lineOf: (change: LockChange) => number | undefined;
  readonly version: string;
}

/** A log as OASIS SARIF 2.1.0 describes it, which code scanning reads: one result for each definition. */
export function diffSarif({ changes, failures, uri, lineOf, version }: SarifRun): string {
  const rules = RULES.map(([id, level, text]) => ({
    id,
    shortDescription: { text },
    defaultConfiguration: { level },
  }));
  const results = changes.map((change) => {
    const ruleIndex = RULES.findIndex(([id]) => id === `definition-${change.state}`);
    const [ruleId, level] = RULES[ruleIndex] ?? RULES[0];
    const name = [change.server, change.kind, ...(change.name === '' ? [] : [change.name])].map(shownName).join('/');
    return {
      ruleId,
      ruleIndex,
      level,
      message: { text: messageOf(change, name) },
      locations: [
        {
          physicalLocation: { artifactLocation: { uri }, region: { startLine: lineOf(change) ?? 1 } },
          logicalLocations: [{ fullyQualifiedName: name, kind: 'member' }],
        },
      ],
      // The same result in the next run, whatever has moved in the file.
      partialFingerprints: { 'definition/v1': `${name}:${change.state}` },
    };
  });
  const invocation = {
    executionSuccessful: failures.length === 0,
    toolExecutionNotifications: failures.map((text) => ({ level: 'error', message: { text } })),
  };
  const driver = { name: 'mcp-adapter', version, rules };
  const run = { tool: { driver }, invocations: [invocation], results };
  return `${JSON.stringify({ $schema: SCHEMA, version: '2.1.0', runs: [run] }, undefined, 2)}\n`;
}

function messageOf({ state, fields }: LockChange, name: string): string {
  if (state === 'removed') return `${name} is gone.`;
  const names = fields.map(({ field }) => field).join(', ');
  return state === 'new' ? `${name} is new.` : `${name} has changed: ${names}.`;
}
