import { z } from 'zod';
import type { StateType } from './adapter-config.ts';

const Health = z.object({ persistence: z.object({ effective_type: z.string() }) });

/**
 * Why a started adapter is not what it was configured to be, or undefined. An adapter that silently keeps its state in
 * memory would be measured as a very fast Redis.
 *
 * @param health the answer of /healthz, parsed
 */
export function stateMismatch(health: unknown, configured: StateType): string | undefined {
  const parsed = Health.safeParse(health);
  if (!parsed.success) return 'its /healthz does not tell where state is kept (persistence.effective_type)';
  const { effective_type: effective } = parsed.data.persistence;
  return effective === configured ? undefined : `configured for ${configured}, but its state is kept in ${effective}`;
}
