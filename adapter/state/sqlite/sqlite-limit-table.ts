import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LimitTable } from '../tables/limit-table.ts';

/** What has expired is removed with every so many calls. */
const SWEEP_EVERY = 1_000;

/** Limits in a SQLite file. Every method may throw what SQLite throws. */
export class SqliteLimitTable implements LimitTable {
  readonly #sql: ReturnType<typeof statements>;
  #written = 0;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
  }

  freeAt(key: string): number {
    return Number(this.#sql.freeAt.get(key)?.['free_at'] ?? 0);
  }

  setFreeAt(key: string, us: number, now: number): void {
    if (this.#written++ % SWEEP_EVERY === 0) this.#sql.sweepRates.run(now * 1000);
    this.#sql.setFreeAt.run(key, us);
  }

  placesTaken(key: string, now: number): number {
    this.#sql.sweepPlaces.run(key, now);
    return Number(this.#sql.placesTaken.get(key)?.['taken']);
  }

  holdsPlace(key: string, id: string): boolean {
    return this.#sql.holdsPlace.get(key, id) !== undefined;
  }

  setPlace(key: string, id: string, until: number): void {
    this.#sql.setPlace.run(key, id, until);
  }

  dropPlace(key: string, id: string): void {
    this.#sql.dropPlace.run(key, id);
  }
}

function statements(database: DatabaseSync) {
  const sql = (text: string): StatementSync => database.prepare(text);
  return {
    freeAt: sql('SELECT free_at FROM call_rates WHERE key = ?'),
    setFreeAt: sql(
      `INSERT INTO call_rates (key, free_at) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET free_at = excluded.free_at`,
    ),
    sweepRates: sql('DELETE FROM call_rates WHERE free_at <= ?'),
    placesTaken: sql('SELECT count(*) AS taken FROM call_places WHERE key = ?'),
    holdsPlace: sql('SELECT 1 FROM call_places WHERE key = ? AND id = ?'),
    setPlace: sql(
      `INSERT INTO call_places (key, id, until) VALUES (?, ?, ?) ON CONFLICT (key, id) DO UPDATE SET until = excluded.until`,
    ),
    dropPlace: sql('DELETE FROM call_places WHERE key = ? AND id = ?'),
    sweepPlaces: sql('DELETE FROM call_places WHERE key = ? AND until <= ?'),
  };
}
