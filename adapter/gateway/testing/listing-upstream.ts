import { EventEmitter } from 'node:events';

import { type Body, parseBody } from '../../exchange/message.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { UpstreamSessions } from '../../sessions/upstream-sessions.ts';
import { MemoryStore } from '../../state/memory-store.ts';
import type { SessionRecord } from '../../state/state-store.ts';
import { StreamableHttpUpstream } from '../../upstream/streamable-http.ts';
import {
  answerError,
  answerResult,
  type HttpUpstream,
  startHttpUpstream,
} from '../../upstream/testing/http-upstream.ts';
import type { Turn } from '../turn.ts';
import { sampleMount } from './sample-mount.ts';

export type Entry = Record<string, unknown>;

/** An upstream that lists one thing, page by page, and the turns of clients that ask it. */
export interface ListingUpstream extends AsyncDisposable {
  readonly http: HttpUpstream;
  pages: Entry[][];
  readonly drifts: string[];
  turn(server: Record<string, unknown>): Turn;
  session(): Promise<SessionRecord>;
  /** The response message for one page, as the upstream writes it. */
  answer(at: number): string;
}

/** @param member where the entries stand in a result */
export async function startListingUpstream(method: string, member: string): Promise<ListingUpstream> {
  const store = new MemoryStore();
  const transports: StreamableHttpUpstream[] = [];
  const result = (at: number): Entry => ({
    [member]: upstream.pages[at],
    ...(at + 1 < upstream.pages.length && { nextCursor: `${at + 1}` }),
  });
  const http = await startHttpUpstream((request, res) => {
    if (request.message.method !== method) return answerError(request, res, 200, -32601, 'Method not found');
    answerResult(request, res, result(Number(request.message.params?.['cursor'] ?? 0)));
  });
  const upstream: ListingUpstream = {
    http,
    pages: [],
    drifts: [],
    turn(server) {
      const transport = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
      transports.push(transport);
      const onTextDrift = (preview: string): void => void upstream.drifts.push(preview);
      const mount = sampleMount(server, { upstream: transport, listTtlMs: 0, onTextDrift });
      const parts = { store, upstreamSessions: new UpstreamSessions(store) };
      const incoming = { headers: {}, reply: new EventEmitter(), principal: '' };
      return { mount, incoming, parts } as unknown as Turn;
    },
    async session() {
      const record = sessionRecord({ sessionId: `${transports.length}-${Math.random()}` });
      await store.open(record);
      return record;
    },
    answer: (at) => JSON.stringify({ jsonrpc: '2.0', id: 1, result: result(at) }),
    async [Symbol.asyncDispose]() {
      await Promise.all(transports.map((transport) => transport.close()));
      await http.close();
    },
  };
  return upstream;
}

/** A request of a client. */
export function requestBody(method: string, params: Entry = {}): Body {
  const parsed = parseBody(Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })));
  if ('code' in parsed) throw new Error(parsed.detail);
  return parsed;
}
