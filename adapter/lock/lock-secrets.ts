import type { Redact } from '../../lib/redaction/redact.ts';
import type { FieldChange, LockChange } from './lock-diff.ts';

/**
 * The secrets of a configuration, where somebody reviews what an upstream says: it knows some, and may repeat them. Only
 * these are hidden. What just looks like a credential stays, or an upstream could hide words from the review behind `token=`.
 */
export interface LockSecrets {
  readonly hide: Redact;
  /** Whether a name holds one: in a lock it would have to stand as it is. */
  readonly areIn: (name: string) => boolean;
}

/** Changes for people, without secrets. */
export const withoutSecrets = (changes: readonly LockChange[], { hide }: LockSecrets): LockChange[] =>
  changes.map((change) => ({
    ...change,
    name: hide(change.name),
    fields: change.fields.map((field) => fieldWithout(field, hide)),
  }));

const fieldWithout = ({ now, why, ...field }: FieldChange, hide: Redact): FieldChange => ({
  ...field,
  ...(now === undefined ? {} : { now: JSON.stringify(hidden(JSON.parse(now), hide)) }),
  ...(why === undefined ? {} : { why: hide(why) }),
});

/** As deep as JSON.parse reads a definition within the limits of answers. */
function hidden(value: unknown, hide: Redact): unknown {
  if (typeof value === 'string') return hide(value);
  if (Array.isArray(value)) return value.map((one) => hidden(one, hide));
  if (typeof value !== 'object' || value === null) return value;
  // `__proto__` is a member like others.
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [hide(key), hidden(one, hide)]));
}
