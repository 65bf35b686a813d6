/**
 * What replicas tell each other while it matters: control messages, and the messages of `sse` upstreams, whose one
 * event stream is read by one replica for all. Nothing here is a source of truth; sessions live in the StateStore.
 */
export interface MessageBus {
  /**
   * Tells every replica, this one included. Best effort: a replica that is not connected misses it.
   * Fails with StoreUnavailable when the bus is down.
   */
  publish(message: ControlMessage): Promise<void>;
  /** Called for every control message, own ones included. Returns how to stop. */
  onControl(listener: (message: ControlMessage) => void): () => void;

  /**
   * Appends a message to the session's log and wakes its followers on all replicas. What nobody waits for is neither
   * kept nor delivered (`expect`, `addCall`). The log keeps about the last `LOG_LENGTH` messages, fewer when they are
   * large, and expires `MESSAGE_LOG_TTL_MS` after the last append; of all logs the oldest go when there is too much in
   * them. Returns the entry's id, undefined for what nobody waits for; ids grow.
   */
  append(key: BusKey, entry: NewEntry): Promise<string | undefined>;
  /** Messages of `carrier` are kept from now on, until nobody has followed them for `MESSAGE_LOG_TTL_MS`. */
  expect(key: BusKey, carrier: string): Promise<void>;
  /**
   * Expects `carrier`, and delivers its entries with an id after `after` (null, or a text that is no id: only new ones),
   * first the kept ones, then live ones, each once and in order. Resolves when it is certain that no later append can be
   * missed. Fails with StoreUnavailable when the bus is down; a later interruption is bridged.
   */
  follow(
    key: BusKey,
    carrier: string,
    after: string | null,
    listener: (entry: LogEntry) => void,
  ): Promise<() => Promise<void>>;
  /** Forgets the session's log and its running calls. */
  drop(key: BusKey): Promise<void>;

  /**
   * Notes a request that runs on this session, so that the reader of the stream can choose a carrier. It counts for
   * `CALL_LEASE_MS`, as its replica may die, and goes on when it is noted again.
   */
  addCall(key: BusKey, call: RunningCall): Promise<void>;
  removeCall(key: BusKey, carrier: string): Promise<void>;
  /** The session's running requests, oldest first. */
  calls(key: BusKey): Promise<RunningCall[]>;

  close(): Promise<void>;
}

export const MESSAGE_LOG_TTL_MS = 10 * 60_000;
export const CALL_LEASE_MS = 30_000;

/** Session and upstream generation: messages of a closed upstream session never reach the next one. */
export interface BusKey {
  readonly serverId: string;
  readonly sessionId: string;
  readonly generation: number;
}

export const busKeyText = ({ serverId, sessionId, generation }: BusKey): string =>
  `${serverId}\n${sessionId}\n${generation}`;

/** A part of a filter of `subscriptions/listen` (MCP 2026-07-28, subscriptions). */
export type UnannouncedChange =
  | 'toolsListChanged'
  | 'promptsListChanged'
  | 'resourcesListChanged'
  | 'resourceSubscriptions';

export type ControlMessage =
  | { readonly type: 'session-ended'; readonly serverId: string; readonly sessionId: string }
  | {
      readonly type: 'upstream-closed';
      readonly serverId: string;
      readonly sessionId: string;
      readonly generation: number;
    }
  /** The session's own stream was opened anew, by this reader, who gets its messages from now on. */
  | {
      readonly type: 'stream-opened';
      readonly serverId: string;
      readonly sessionId: string;
      readonly generation: number;
      readonly reader: string;
    }
  /** A GET of this session is on its way to the upstream; `stream` tells it from others. */
  | {
      readonly type: 'stream-coming';
      readonly serverId: string;
      readonly sessionId: string;
      readonly stream: string;
    }
  /** The upstream has answered it. `client` stands for the program that opened the session. */
  | {
      readonly type: 'stream-settled';
      readonly serverId: string;
      readonly sessionId: string;
      readonly stream: string;
      readonly client: string;
      readonly isOpen: boolean;
    }
  /** A client in a session that has no upstream session wants to hear of a resource, or no longer. */
  | {
      readonly type: 'subscribed';
      readonly serverId: string;
      readonly sessionId: string;
      readonly uri: string;
      readonly isOn: boolean;
    }
  /** A server has told one of its clients that its lists have changed. */
  | { readonly type: 'lists-changed'; readonly serverId: string; readonly sessionId: '' }
  /** A server was found not to tell of changes that it offers to tell of. */
  | {
      readonly type: 'changes-untold';
      readonly serverId: string;
      readonly sessionId: '';
      readonly changes: readonly UnannouncedChange[];
    }
  | { readonly type: 'drop-get'; readonly serverId: string; readonly sessionId: string; readonly except: string }
  | { readonly type: 'cancelled'; readonly serverId: string; readonly sessionId: string; readonly requestId: string }
  /** For the session's open event stream, wherever it is: JSON text of a notification of the adapter's own. */
  | { readonly type: 'notify'; readonly serverId: string; readonly sessionId: string; readonly text: string };

export interface NewEntry {
  readonly carrier: string;
  readonly message: string;
  /** It answers the request whose carrier it has: the call runs no longer, and nothing more is expected. */
  readonly isAnswer?: boolean;
  /** What is kept in place of a message that is too large for the log. */
  readonly instead?: string;
}

export interface LogEntry {
  readonly id: string;
  readonly message: string;
}

export interface RunningCall {
  /** `r:<JSON text of the request id>`. */
  readonly carrier: string;
  /** JSON text of the request's progress token, null when it has none. */
  readonly progressToken: string | null;
  /** Whether the request is a tools/call. */
  readonly toolCall: boolean;
  readonly startedAt: number;
}
