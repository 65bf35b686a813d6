import type { Answers, CallOptions, RealClient, RealClientOptions } from '../../support/real-client.ts';
import type { RealServer } from '../../support/real-servers.ts';

/** Two clients of one SDK at one server, with the same user: one directly, one through the adapter. */
export interface Pair<Client extends RealClient = RealClient> extends AsyncDisposable {
  readonly direct: Client;
  readonly through: Client;
  /** May be changed at any time. */
  readonly answers: Answers;
  /** Does the same with both, one after the other. */
  both<T>(use: (client: Client) => Promise<T>): Promise<{ direct: T; through: T }>;
  /** The same at the same time, for what takes long and does not touch `answers`. */
  bothAtOnce<T>(use: (client: Client) => Promise<T>): Promise<{ direct: T; through: T }>;
}

export async function openPair<Client extends RealClient>(
  connect: (options: RealClientOptions) => Promise<Client>,
  server: RealServer,
  mountUrl: string,
): Promise<Pair<Client>> {
  const answers: Answers = {
    sampling: 'an answer of the model',
    elicitation: { action: 'accept', content: { name: 'Ada Lovelace', check: true, integer: 42, petType: 'pet-2' } },
    roots: [{ uri: 'file:///home/ada/notes', name: 'Notes' }],
  };
  await using opened = new AsyncDisposableStack();
  const { url, transport } = server;
  const direct = opened.use(await connect({ url, transport, answers }));
  const through = opened.use(await connect({ url: mountUrl, transport: 'streamable_http', answers }));
  const running = opened.move();
  return {
    direct,
    through,
    answers,
    both: async (use) => ({ direct: await use(direct), through: await use(through) }),
    async bothAtOnce(use) {
      const [directly, throughIt] = await Promise.all([use(direct), use(through)]);
      return { direct: directly, through: throughIt };
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

/** How a request has ended, as the application sees it. */
export type Outcome =
  | { readonly result: Record<string, unknown> }
  | { readonly error: { readonly code: unknown; readonly message: string; readonly data: unknown } };

export async function outcomeOf(request: Promise<Record<string, unknown>>): Promise<Outcome> {
  try {
    return { result: await request };
  } catch (error) {
    const { code, message, data } = error as { code: unknown; message: string; data: unknown };
    return { error: { code, message, data } };
  }
}

/** A tool call as it stands on the wire, so that nothing of its result is lost to the SDK's schemas. */
export function callTool(client: RealClient, name: string, args = {}, options?: CallOptions): Promise<Outcome> {
  return outcomeOf(client.request('tools/call', { name, arguments: args }, options));
}
