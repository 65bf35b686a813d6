import type { Environment } from '../references/reference.ts';

/** Where a program answers who operates it, on the loopback address. */
export interface AdminSettings {
  readonly port: number;
  /** Who does not know it is somebody else in the same pod or on the same machine. */
  readonly key: string;
}

/** A shorter key could be guessed by who may try without end. */
const LEAST_KEY = 16;

/**
 * From the variables PREFIX_ADMIN_PORT and PREFIX_ADMIN_KEY; undefined without either of them, or with an empty one.
 *
 * @throws Error that names the variable which cannot be used
 */
export function adminSettings(prefix: string, env: Environment): AdminSettings | undefined {
  const [port = '', key = ''] = ['PORT', 'KEY'].map((name) => env[`${prefix}_ADMIN_${name}`]?.trim());
  if (port === '' || key === '') return undefined;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Error(`${prefix}_ADMIN_PORT must be a number from 0 to 65535`);
  }
  if (key.length < LEAST_KEY) throw new Error(`${prefix}_ADMIN_KEY must have at least ${LEAST_KEY} characters`);
  return { port: Number(port), key };
}
