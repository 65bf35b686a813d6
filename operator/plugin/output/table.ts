import { visible } from './visible.ts';

type Cell = string | number | null | undefined;

/** Columns as `kubectl get` shows them; what is not known is `-`. Empty without rows. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  if (rows.length === 0) return '';
  const lines = [head, ...rows.map((row) => row.map(cellText))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined || cell === '') return '-';
  return visible(String(cell));
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

/** `1536` is `1.5 KiB`. */
export function bytes(count: number): string {
  const power = count < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(count) / 10));
  const value = count / 1024 ** power;
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[power]}`;
}

/** Seconds as `kubectl get` writes an age: `45s`, `12m`, `7h`, `3d`. */
export function age(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 120) return `${whole}s`;
  if (whole < 7_200) return `${Math.floor(whole / 60)}m`;
  return whole < 172_800 ? `${Math.floor(whole / 3_600)}h` : `${Math.floor(whole / 86_400)}d`;
}
