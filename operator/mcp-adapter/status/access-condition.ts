/** Pure: what the pods say of who may come in, put together. */
import type { DesiredCondition } from '../../status/conditions.ts';
import type { PodHealth } from '../health/pod-health.ts';

/** By the adapter's codes, the worst first; what another version may say beside them is left out. */
const PROBLEMS = [
  {
    code: 'open_to_all',
    reason: 'OpenToAll',
    message:
      'Whoever reaches the pods may use every server, because spec.config.core.auth.enabled is false. Set a token, from a Secret',
  },
  {
    code: 'weak_credentials',
    reason: 'WeakCredentials',
    message:
      'spec.config has a token or signing secret of fewer than 16 characters, which can be guessed ' +
      '(`openssl rand -hex 32` makes a good one), or an issuer without TLS. The log of a pod says which at its start',
  },
] as const;

export function accessCondition(health: readonly PodHealth[]): DesiredCondition {
  const type = 'AccessProtected';
  const codes = new Set(health.flatMap(({ warnings }) => warnings));
  const problem = PROBLEMS.find(({ code }) => codes.has(code));
  if (problem === undefined) return { type, status: 'True', reason: 'Protected', message: 'Clients need a token' };
  return { type, status: 'False', reason: problem.reason, message: problem.message };
}
