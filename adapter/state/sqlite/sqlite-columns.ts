import type { SQLOutputValue } from 'node:sqlite';

/** A row as `node:sqlite` gives it, and its values as what the schema says they are. */
export type Columns = Record<string, SQLOutputValue>;

export const text = (value: SQLOutputValue | undefined): string => String(value);
export const textOrNull = (value: SQLOutputValue | undefined): string | null => (value === null ? null : String(value));
export const number = (value: SQLOutputValue | undefined): number => Number(value);
