import { valueAt } from '../../../lib/json/tree.ts';
import { isObject } from '../../../lib/json/json-object.ts';
import { listAt, numberAt, textAt } from '../../kubernetes/unstructured.ts';

/** What a pod says in `/healthz` of its tool lock. Names are words of upstreams. */
export interface ToolLockHealth {
  /** What is wrong with the file; the last good one is in force then. */
  readonly problem: string | undefined;
  readonly mode: 'audit' | 'enforce';
  readonly servers: readonly ServerComparison[];
}

/** How one server compares with the lock. */
export interface ServerComparison {
  readonly id: string;
  readonly found: Readonly<Record<DefinitionState, FoundDefinitions>>;
  /** Milliseconds since the epoch; undefined: not yet. */
  readonly comparedAt: number | undefined;
}

export const STATES = ['drift', 'new', 'removed'] as const;
export type DefinitionState = (typeof STATES)[number];

export interface FoundDefinitions {
  readonly listed: readonly FoundDefinition[];
  /** How many there are beside these. */
  readonly more: number;
}

export interface FoundDefinition {
  /** `tools`, `prompts`, `resourceTemplates`, `instructions`; undefined where the pod does not tell. */
  readonly kind: string | undefined;
  /** Undefined where the pod does not tell it to those without its token; then `locked` stands for it. */
  readonly name: string | undefined;
  /** Digest in the lock, of what drifts. */
  readonly locked: string | undefined;
  /** What differs, of what drifts. */
  readonly fields: readonly string[];
}

/** As many as an adapter tells of each; what is said beyond is counted only. */
const MAX_LISTED = 20;
const MAX_FIELDS = 20;
const MAX_SERVERS = 256;
/** Of what an upstream names, and of a field of our own. */
const MAX_NAME = 1024;
const MAX_WORD = 64;
/** Of a Date. Source: ECMAScript, "Time Values and Time Range". */
const MAX_TIME = 8.64e15;

/** Undefined when this says nothing of a lock. */
export function parseToolLock(document: unknown): ToolLockHealth | undefined {
  if (!isObject(document)) return undefined;
  const servers = isObject(document['servers']) ? Object.entries(document['servers']) : [];
  return {
    problem: textAt(document, 'problem'),
    mode: document['mode'] === 'audit' ? 'audit' : 'enforce',
    servers: servers.slice(0, MAX_SERVERS).map(([id, server]) => parseServer(id, server)),
  };
}

function parseServer(id: string, server: unknown): ServerComparison {
  const comparedAt = numberAt(server, 'compared_at');
  // What is not told is not known to be well.
  const isTold = STATES.every((state) => Array.isArray(valueAt(server, [state])));
  return {
    id,
    found: {
      drift: parseFound(server, 'drift'),
      new: parseFound(server, 'new'),
      removed: parseFound(server, 'removed'),
    },
    comparedAt: isTold && comparedAt !== undefined && Math.abs(comparedAt) <= MAX_TIME ? comparedAt : undefined,
  };
}

function parseFound(server: unknown, state: DefinitionState): FoundDefinitions {
  const all = listAt(server, state).flatMap((one) => parseDefinition(one) ?? []);
  const listed = all.slice(0, MAX_LISTED);
  const count = numberAt(server, 'more', state) ?? 0;
  const more = Number.isSafeInteger(count) && count > 0 ? count : 0;
  return { listed, more: more + all.length - listed.length };
}

function parseDefinition(document: unknown): FoundDefinition | undefined {
  if (!isObject(document)) return undefined;
  const fields = listAt(document, 'fields').filter((field) => typeof field === 'string');
  const kind = textAt(document, 'kind')?.slice(0, MAX_WORD);
  return {
    kind,
    name: kind === 'instructions' ? '' : textAt(document, 'name')?.slice(0, MAX_NAME),
    locked: textAt(document, 'locked')?.slice(0, MAX_NAME),
    fields: fields.slice(0, MAX_FIELDS).map((field) => field.slice(0, MAX_WORD)),
  };
}
