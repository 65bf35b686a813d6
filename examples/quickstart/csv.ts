interface Column {
  readonly name: string;
  /** Undefined when a cell is no number. */
  readonly numbers: { readonly minimum: number; readonly mean: number; readonly maximum: number } | undefined;
}

/** Reads a simple table: commas separate cells, quotes have no meaning, missing cells are empty. */
export function summarize(csv: string): { columns: Column[]; rows: string[][] } {
  const lines = csv
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const [names = [], ...cells] = lines.map((line) => line.split(',').map((cell) => cell.trim()));
  const rows = cells.map((row) => names.map((_, index) => row[index] ?? ''));
  const columns = names.map((name, index) => ({ name, numbers: numbersOf(rows.map((row) => row[index] ?? '')) }));
  return { columns, rows };
}

function numbersOf(cells: readonly string[]): Column['numbers'] {
  const numbers = cells.map((cell) => (cell === '' ? Number.NaN : Number(cell)));
  if (numbers.length === 0 || numbers.some(Number.isNaN)) return undefined;
  const sum = numbers.reduce((total, number) => total + number, 0);
  const mean = Math.round((sum / numbers.length) * 1000) / 1000;
  return { minimum: Math.min(...numbers), mean, maximum: Math.max(...numbers) };
}
