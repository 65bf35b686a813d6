import type { ResponseSink, Upstream, UpstreamRequest, UpstreamSession } from '../../exchange/upstream.ts';
import { ClientSide } from '../wire/client-side.ts';
import type { Discovery } from './discoveries.ts';
import { ListenStream } from './listen-stream.ts';
import { identityOf } from '../wire/newer-request.ts';
import { takesSubscriptions, offeredChanges } from './older-greeting.ts';
import { Registry } from './registry.ts';
import type { UnannouncedChange } from '../../state/message-bus.ts';
import { withSubscription } from '../../state/stored-session.ts';

const EMPTY = '{}';

export interface OlderStreamsDeps {
  readonly upstream: Upstream;
  /** What the server says of itself; undefined where it does not speak the newer revision. */
  readonly discover: (headers: readonly string[]) => Promise<Discovery | undefined>;
  /** Asks it anew. */
  readonly isStillNewer: (headers: readonly string[]) => Promise<boolean>;
  /** It does not tell of these, though it offers to. */
  readonly onLeftOut: (changes: readonly UnannouncedChange[]) => void;
}

/** The event streams of clients in sessions at a server that knows none, as far as they are at this replica. */
export class OlderStreams {
  readonly #deps: OlderStreamsDeps;
  readonly #streams = new Registry<{ readonly stream: ListenStream; readonly uris: Set<string> }>();

  constructor(deps: OlderStreamsDeps) {
    this.#deps = deps;
  }

  open(request: UpstreamRequest, sink: ResponseSink): void {
    const { sessionId, subscriptions, initializeParams = EMPTY } = request.session as UpstreamSession;
    const client = new ClientSide(sink, 1);
    let stream: ListenStream | undefined;
    let isOver = false;
    let isPaused = false;
    sink.onStart({
      pause: () => {
        isPaused = true;
        stream?.pause();
      },
      resume: () => {
        isPaused = false;
        stream?.resume();
      },
      abort: () => {
        isOver = true;
        client.leave();
        stream?.abort();
      },
    });
    const open = async (): Promise<void> => {
      const discovery = await this.#deps.discover(request.headers);
      if (isOver) return;
      if (discovery === undefined) return client.lost();
      const offered = offeredChanges(discovery);
      if (Object.keys(offered).length === 0 && !takesSubscriptions(discovery)) {
        return client.refused({ status: 405, headers: {}, upstreamSessionId: null }, Buffer.alloc(0));
      }
      const uris = new Set(takesSubscriptions(discovery) ? subscriptions : []);
      const { headers } = request;
      const { upstream, onLeftOut } = this.#deps;
      const deps = { upstream, onLeftOut, headers, client: identityOf(initializeParams), offered };
      const isStillNewer = (): Promise<boolean> => this.#deps.isStillNewer(headers);
      stream = new ListenStream({ ...deps, subscriptions: uris, isStillNewer }, client);
      if (isPaused) stream.pause();
      const remove = this.#streams.add(sessionId, { stream, uris });
      await stream.run().finally(remove);
    };
    open().catch((error: unknown) => client.failed(error as Error, false));
  }

  /** The client of a session wants to hear of a resource, or no longer; of no more than the session keeps. */
  subscribed(sessionId: string, uri: string, isOn: boolean): void {
    for (const { stream, uris } of this.#streams.of(sessionId)) {
      if (withSubscription([...uris], uri, isOn).length === uris.size) continue;
      if (isOn) uris.add(uri);
      else uris.delete(uri);
      stream.refresh();
    }
  }
}
