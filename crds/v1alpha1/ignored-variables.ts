import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCodeVariable } from './code-variables.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Keys of referenced Secrets and ConfigMaps that would be code or change whom the program trusts, and that the operator
 * has overridden: their names with those of their objects, such as `NODE_OPTIONS (secrets/api)`, for the log. Values stay
 * where they are.
 * @param folder where the operator mounts these objects; what cannot be read there is left out
 */
export async function ignoredVariables(folder: string, env: Environment): Promise<string[]> {
  const found: string[] = [];
  for (const kind of ['secrets', 'configmaps']) {
    for (const object of await namesIn(join(folder, kind))) {
      const place = join(folder, kind, object);
      for (const name of (await namesIn(place)).filter(isCodeVariable)) {
        const value = await readFile(join(place, name), 'utf8').catch(() => '');
        // A key that is read by another name brings no variable of its own.
        if (env[name] !== undefined && value !== '' && env[name] !== value) found.push(`${name} (${kind}/${object})`);
      }
    }
  }
  return found;
}

const namesIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('.')).sort();
