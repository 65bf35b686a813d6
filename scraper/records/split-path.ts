/**
 * The segments of a path: `.` separates, `/.` is a dot inside a name, and empty segments do not count.
 */
export function splitPath(path: string): string[] {
  return path
    .split(/(?<!\/)\./)
    .map((segment) => segment.replaceAll('/.', '.'))
    .filter((segment) => segment !== '');
}
