import { hash, randomUUID } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { rememberLast } from '../../lib/memory/remember-last.ts';
import { locate } from '../exchange/scanning/json-scan.ts';
import type { ControlMessage, MessageBus } from '../state/message-bus.ts';
import type { SessionKey, SessionRecord } from '../state/state-store.ts';
import { keyText } from '../state/stored-session.ts';

/** The longest that anything waits for a stream, in milliseconds. */
const HOLD_MS = 300;
/** Clients open their stream right after their session. */
const FRESH_MS = 2_000;
const KEPT_MS = 2 * FRESH_MS;
const MAX_SESSIONS = 10_000;
const MAX_CLIENTS = 1_000;

/** A stream that is on its way, or is expected, or was until a moment ago. */
interface Coming {
  /** Undefined while it is only expected. */
  id: string | undefined;
  readonly over: Promise<void>;
  readonly end: () => void;
  isOver: boolean;
  timer: NodeJS.Timeout;
}

/** Of the stream of one GET: told once whether it is there. */
export interface OpeningStream {
  settled(isOpen: boolean): void;
}

type Session = SessionKey & Pick<SessionRecord, 'createdAt' | 'initializeParams'>;

/**
 * Keeps the order in which a client opens its event stream (GET) and sends its next messages, which come to any
 * replica: a server may ask on that stream, and what has no stream yet is lost. Replicas tell each other of streams that
 * are on their way, and what comes later waits until the upstream has answered them.
 *
 *     (fresh session) ── a request ──▶ expected ──HOLD_MS──▶ over    its client opens none: the next ones are not expected
 *            │                             │
 *            └───────── a GET ──────────▶ coming ──the upstream's head, or HOLD_MS──▶ over
 *
 * The word of another replica may come after the message that it is about. In the first moments of a session a stream
 * is therefore expected, but not from clients that were expected to open one and did not.
 */
export class StreamOrder {
  readonly #bus: Pick<MessageBus, 'publish'>;
  readonly #now: () => number;
  readonly #coming = new LRUCache<string, Coming>({
    max: MAX_SESSIONS,
    ttl: KEPT_MS,
    dispose: (coming) => end(coming),
  });
  /** By the store's clock; nothing that is coming is kept for longer. */
  #anyUntil = 0;
  /** Whether they open streams, as far as that was seen. */
  readonly #clients = new LRUCache<string, boolean>({ max: MAX_CLIENTS });

  /** `now` is the store's clock, which sessions have the time of their creation from. */
  constructor(bus: Pick<MessageBus, 'publish' | 'onControl'>, now: () => number) {
    this.#bus = bus;
    this.#now = now;
    bus.onControl((message) => this.#onControl(message));
  }

  /** A GET of this session is about to be sent to the upstream. */
  opening(session: Session): OpeningStream {
    const { serverId, sessionId } = session;
    const stream = randomUUID();
    this.#publish({ type: 'stream-coming', serverId, sessionId, stream });
    let isSettled = false;
    return {
      settled: (isOpen) => {
        if (isSettled) return;
        isSettled = true;
        this.#publish({ type: 'stream-settled', serverId, sessionId, stream, client: clientOf(session), isOpen });
      },
    };
  }

  /**
   * What a message of this session has to wait for; undefined: it may go now.
   * @param asks whether it is a request, which the server may answer with a question
   */
  before(session: Session, asks: boolean): Promise<void> | undefined {
    const now = this.#now();
    const mayExpect = asks && Math.abs(now - session.createdAt) <= FRESH_MS;
    // Nearly always: no stream of any session is on its way.
    if (!mayExpect && now > this.#anyUntil) return undefined;
    const key = keyText(session);
    const known = this.#coming.get(key);
    if (known !== undefined) return known.isOver ? undefined : known.over;
    if (!mayExpect) return undefined;
    const client = clientOf(session);
    if (this.#clients.get(client) === false) return undefined;
    const expected = this.#add(key, undefined);
    clearTimeout(expected.timer);
    expected.timer = setTimeout(() => {
      this.#clients.set(client, false);
      end(expected);
    }, HOLD_MS);
    return expected.over;
  }

  #publish(message: ControlMessage): void {
    // This replica knows it before the bus has it.
    this.#onControl(message);
    this.#bus.publish(message).catch(() => {
      // Messages that come to other replicas may then overtake the stream.
    });
  }

  #onControl(message: ControlMessage): void {
    if (message.type === 'stream-coming') this.#onComing(keyText(message), message.stream);
    else if (message.type === 'stream-settled') {
      this.#clients.set(message.client, message.isOpen);
      const coming = this.#coming.get(keyText(message));
      if (coming?.id === message.stream) end(coming);
    }
  }

  #onComing(key: string, stream: string): void {
    const known = this.#coming.get(key);
    if (known?.id === stream) return;
    if (known === undefined || known.isOver) {
      this.#add(key, stream);
      return;
    }
    known.id = stream;
    clearTimeout(known.timer);
    known.timer = setTimeout(() => end(known), HOLD_MS);
  }

  #add(key: string, id: string | undefined): Coming {
    const { promise, resolve } = Promise.withResolvers<void>();
    const coming: Coming = {
      id,
      over: promise,
      end: resolve,
      isOver: false,
      timer: setTimeout(() => end(coming), HOLD_MS),
    };
    this.#coming.set(key, coming);
    this.#anyUntil = this.#now() + KEPT_MS;
    return coming;
  }
}

function end(coming: Coming): void {
  clearTimeout(coming.timer);
  coming.isOver = true;
  coming.end();
}

/** Stands for the program that opened the session: all its sessions open streams, or none does. */
const clientOf = ({ serverId, initializeParams }: Session): string => hashed(`${serverId}\n${initializeParams}`);

const hashed = rememberLast((session) => {
  const start = session.indexOf('\n') + 1;
  const info = locate(session.slice(start), ['clientInfo']);
  const text = info === undefined ? '' : session.slice(start + info.start, start + info.end);
  return hash('sha256', session.slice(0, start) + text, 'base64');
});
