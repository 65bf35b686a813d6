import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { FirstTextTable } from '../tables/first-text-table.ts';

/** First texts in a SQLite file. Every method may throw what SQLite throws. */
export class SqliteFirstTexts implements FirstTextTable {
  readonly #select: StatementSync;
  readonly #write: StatementSync;
  readonly #dropExpired: StatementSync;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare('SELECT text FROM first_texts WHERE name = ? AND expires_at > ?');
    this.#write = database.prepare(
      `INSERT INTO first_texts (name, text, expires_at) VALUES (?, ?, ?)
       ON CONFLICT (name) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at`,
    );
    this.#dropExpired = database.prepare('DELETE FROM first_texts WHERE expires_at <= ?');
  }

  get(name: string, now: number): string | undefined {
    const columns = this.#select.get(name, now);
    return columns === undefined ? undefined : String(columns['text']);
  }

  set(name: string, text: string, expiresAt: number): void {
    this.#write.run(name, text, expiresAt);
  }

  dropExpired(now: number): void {
    this.#dropExpired.run(now);
  }
}
