import type { FileProblem } from './manifests.ts';

/** `file:line:column: path message`, which editors and terminals turn into links. */
export function describeProblem({ file, line, column, path, message }: FileProblem): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  return `${place}: ${path === '' ? '' : `${path} `}${message}`;
}
