import { hash } from 'node:crypto';

import { elements, locate } from '../exchange/json-scan.ts';
import { MODERN_META, modernHeaders } from '../upstream/era.ts';
import { ownRequest } from '../upstream/own-request.ts';
import type { ToolCall } from './tool-step.ts';
import { isWorkspace } from './workspaces.ts';

const TIMEOUT_MS = 10_000;
const MAX_PAGES = 64;
const MAX_KEPT = 200;

interface Listed {
  /** Input schemas as JSON text by the name of the tool. */
  readonly schemas: ReadonlyMap<string, string>;
  readonly until: number;
}

/**
 * Input schemas of upstream tools, for the questions that a call alone does not answer. Listed by requests of the
 * adapter's own in the session of the call, and kept for each server and for what its clients authenticate with.
 */
export class ToolSchemas {
  readonly #ttlMs: number;
  readonly #kept = new Map<string, Promise<Listed>>();

  constructor(ttlMs: number) {
    this.#ttlMs = ttlMs;
  }

  /** Undefined when the upstream does not say. */
  async of(call: ToolCall): Promise<string | undefined> {
    const { mount, incoming } = call.turn;
    const headers = mount.headers.base('POST', incoming.headers);
    const key = hash('sha256', JSON.stringify([mount.serverId, headers]), 'base64');
    const kept = await this.#kept.get(key);
    if (kept !== undefined && Date.now() < kept.until) return kept.schemas.get(call.tool);
    const listing = list(call, this.#ttlMs).catch((): Listed => ({ schemas: new Map(), until: 0 }));
    this.#kept.delete(key);
    this.#kept.set(key, listing);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return (await listing).schemas.get(call.tool);
  }
}

async function list({ turn, record }: ToolCall, ttlMs: number): Promise<Listed> {
  const { mount, incoming } = turn;
  const schemas = new Map<string, string>();
  const modern = isWorkspace(record);
  const headers = modern
    ? [...mount.headers.base('POST', incoming.headers), ...modernHeaders('tools/list')]
    : mount.headers.forward('POST', incoming.headers, false);
  const meta = modern ? { _meta: MODERN_META } : {};
  let params = JSON.stringify(meta);
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer = await ownRequest(mount.upstream, {
      session: modern ? undefined : record,
      headers,
      message: { method: 'tools/list', params },
      timeoutMs: TIMEOUT_MS,
    }).catch(() => undefined);
    const result: unknown = answer?.message?.result;
    if (answer?.text === undefined || typeof result !== 'object' || result === null) return { schemas, until: 0 };
    addSchemas(answer.text, schemas);
    const { nextCursor } = result as { nextCursor?: unknown };
    if (typeof nextCursor !== 'string') break;
    params = JSON.stringify({ ...meta, cursor: nextCursor });
  }
  return { schemas, until: Date.now() + ttlMs };
}

function addSchemas(text: string, schemas: Map<string, string>): void {
  const tools = locate(text, ['result', 'tools']);
  if (tools === undefined) return;
  for (const { start } of elements(text, tools.start)) {
    const name = locate(text, ['name'], start);
    const schema = locate(text, ['inputSchema'], start);
    if (name === undefined || schema === undefined || text.charAt(name.start) !== '"') continue;
    schemas.set(JSON.parse(text.slice(name.start, name.end)) as string, text.slice(schema.start, schema.end));
  }
}
