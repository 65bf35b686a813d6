/** A row of the status table. */
export interface Row {
  readonly kind: string;
  readonly name: string;
  /** As the condition of the same name: `True`, `False` or `Unknown`. */
  readonly ready: string;
  readonly upstreams: string;
  readonly restarts: number;
  readonly url: string;
  /** What a person should know: problems first. */
  readonly message: string;
}

/** The rows as `kubectl get` shows them; empty columns on the right are left out. */
export function table(rows: readonly Row[]): string {
  const lines = [
    ['KIND', 'NAME', 'READY', 'UPSTREAMS', 'RESTARTS', 'URL', 'MESSAGE'],
    ...rows.map((row) => [row.kind, row.name, row.ready, row.upstreams, String(row.restarts), row.url, row.message]),
  ];
  const widths = lines[0]?.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length))) ?? [];
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}
