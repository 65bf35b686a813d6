import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { NonceTable } from '../tables/nonce-table.ts';
import { text, textOrNull } from './sqlite-columns.ts';
import type { UploadPermission } from '../upload-nonces.ts';

/** Nonces in a SQLite file. Every method may throw what SQLite throws. */
export class SqliteNonceTable implements NonceTable {
  readonly #sql: ReturnType<typeof statements>;

  constructor(database: DatabaseSync) {
    this.#sql = statements(database);
  }

  get(nonce: string): UploadPermission | undefined {
    const columns = this.#sql.select.get(nonce);
    if (columns === undefined) return undefined;
    return {
      serverId: text(columns['server_id']),
      sessionId: text(columns['session_id']),
      principal: text(columns['principal']),
      toolName: textOrNull(columns['tool_name']),
      elicitationId: textOrNull(columns['elicitation_id']),
      expiresAt: Number(columns['expires_at']),
    };
  }

  add(nonce: string, permission: UploadPermission): void {
    const { serverId, sessionId, principal, toolName, elicitationId, expiresAt } = permission;
    this.#sql.insert.run(nonce, serverId, sessionId, principal, toolName, elicitationId, expiresAt);
  }

  delete(nonce: string): void {
    this.#sql.delete.run(nonce);
  }

  dropExpired(now: number): void {
    this.#sql.dropExpired.run(now);
  }

  clear(): void {
    this.#sql.clear.run();
  }
}

function statements(database: DatabaseSync) {
  const sql = (text: string): StatementSync => database.prepare(text);
  return {
    select: sql('SELECT * FROM nonces WHERE nonce = ?'),
    insert: sql(
      `INSERT INTO nonces (nonce, server_id, session_id, principal, tool_name, elicitation_id, expires_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    delete: sql('DELETE FROM nonces WHERE nonce = ?'),
    dropExpired: sql('DELETE FROM nonces WHERE expires_at <= ?'),
    clear: sql('DELETE FROM nonces'),
  };
}
