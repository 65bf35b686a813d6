import { readFileSync } from 'node:fs';

/** The version in the nearest package.json above a module's `import.meta.url`: above its folders, or above dist/. */
export function packageVersion(program: string): string {
  for (const path of ['../package.json', '../../package.json', '../../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(path, program), 'utf8')) as { version: string }).version;
    } catch {
      continue;
    }
  }
  return '0.0.0';
}
