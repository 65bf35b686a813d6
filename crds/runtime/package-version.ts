import { readFileSync } from 'node:fs';

/** The version in the nearest package.json above a program's `import.meta.url`: beside the sources, or above dist/. */
export function packageVersion(program: string): string {
  for (const path of ['../package.json', '../../package.json']) {
    try {
      return (JSON.parse(readFileSync(new URL(path, program), 'utf8')) as { version: string }).version;
    } catch {
      continue;
    }
  }
  return '0.0.0';
}
