import { knownError } from '../../errors.ts';
import { type Body, parseBody } from '../../exchange/message.ts';
import { sessionRecord } from '../../sessions/testing/session-record.ts';
import { MemoryStore } from '../../state/memory/memory-store.ts';
import type { SessionRecord, StateStore } from '../../state/state-store.ts';
import { StreamableHttpUpstream } from '../../upstream/streamable-http.ts';
import {
  answerError,
  answerResult,
  type HttpUpstream,
  startHttpUpstream,
} from '../../upstream/testing/http-upstream.ts';
import type { ListAsker } from '../../lists/list-answers.ts';
import type { Mount } from '../../mount/mount.ts';
import { noWorkspace } from '../../sessions/workspace-record.ts';
import { sampleMount } from './sample-mount.ts';
import { testSource } from './test-client.ts';

export type Entry = Record<string, unknown>;

/** A client that asks for lists, of a mount. */
export interface TestAsker extends ListAsker {
  readonly mount: Mount;
}

/** `store` keeps what it has seen. Failures that are not expected are thrown. */
export const askerOf = (mount: Mount, store: StateStore = new MemoryStore()): TestAsker => ({
  mount,
  source: testSource(mount, store),
  tasks: store,
  known: (error) =>
    knownError(error, (unexpected) => {
      throw unexpected;
    }),
});

/** An upstream that lists one thing, page by page, and clients that ask it. */
export interface ListingUpstream extends AsyncDisposable {
  readonly http: HttpUpstream;
  pages: Entry[][];
  readonly drifts: string[];
  asker(server: Record<string, unknown>): TestAsker;
  session(): Promise<SessionRecord>;
  /** A client without sessions. */
  nobody(): SessionRecord;
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
    asker(server) {
      const transport = new StreamableHttpUpstream({ url: `${http.origin}/mcp`, insecureTls: false });
      transports.push(transport);
      const onTextDrift = (preview: string): void => void upstream.drifts.push(preview);
      return askerOf(sampleMount(server, { upstream: transport, listTtlMs: 0, onTextDrift }), store);
    },
    async session() {
      const record = sessionRecord({ sessionId: `${transports.length}-${Math.random()}` });
      await store.open(record);
      return record;
    },
    nobody: () => noWorkspace('s1', '', store.now()),
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
