import type { Environment } from '../../lib/references/reference.ts';
import type { ScraperSettings } from '../../crds/config/scraper-file/scraper.ts';

/**
 * The token of the admin API, from the variable that `adminSecretEnv` names, which is set when the configuration is valid;
 * undefined while the API is off. White space around it, such as the end of the line in a file that became a variable,
 * could not be sent and does not count.
 */
export function adminToken(
  { enableAdminApi, adminSecretEnv }: Pick<ScraperSettings, 'enableAdminApi' | 'adminSecretEnv'>,
  env: Environment,
): string | undefined {
  return enableAdminApi ? (env[adminSecretEnv ?? ''] ?? '').trim() : undefined;
}
