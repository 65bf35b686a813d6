import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** Secrets by name in a SQLite file. Every method may throw what SQLite throws. */
export class SqliteSecrets {
  readonly #select: StatementSync;
  readonly #selectAll: StatementSync;
  readonly #insert: StatementSync;

  constructor(database: DatabaseSync) {
    this.#select = database.prepare('SELECT secret FROM secrets WHERE name = ?');
    this.#selectAll = database.prepare('SELECT name, secret FROM secrets');
    this.#insert = database.prepare('INSERT OR IGNORE INTO secrets (name, secret) VALUES (?, ?)');
  }

  get(name: string): string | undefined {
    const columns = this.#select.get(name);
    return columns === undefined ? undefined : String(columns['secret']);
  }

  /** Does nothing when there is one of this name. */
  add(name: string, secret: string): void {
    this.#insert.run(name, secret);
  }

  all(): [name: string, secret: string][] {
    return this.#selectAll.all().map(({ name, secret }) => [String(name), String(secret)]);
  }
}
