/**
 * What is held: bodies that are read; answers that are kept until they may leave; what clients have not taken of answers
 * that have left; logs of event streams; and a little for each request under way.
 */
export type HeldKind = 'requests' | 'bodies' | 'answers' | 'unread' | 'logs';

/** Whom bytes are held for. Each has a limit of its own, so that nobody takes the room of all others. */
export interface HeldFor {
  /** Id of the server. */
  readonly server: string;
  readonly session?: string | undefined;
  /** The client's connection. */
  readonly connection?: object | undefined;
}

/** What is held may be given up when others need the room. */
export interface Endable {
  /** Ends it. What it holds is counted no more, whatever it still does. */
  end(): void;
  /**
   * A number that changes as long as somebody takes what is held, asked for only when there is no room. Undefined: it may be
   * ended at any time.
   */
  progress?(): number;
}

export interface AccountLimits {
  /** Of everything together, in bytes. */
  readonly total: number;
  readonly perServer: number;
  /** Of one session, and of one connection. */
  readonly perClient: number;
  /** Of one kind; without one the total counts. */
  readonly kinds?: Partial<Record<HeldKind, number>>;
}

const KINDS: readonly HeldKind[] = ['requests', 'bodies', 'answers', 'unread', 'logs'];
/** These are ended where there is no room, in this order, the oldest first. */
const ENDED_FIRST: readonly HeldKind[] = ['unread', 'logs'];
/** Who holds no more is counted in the total and for the server only: nearly all requests are that small. */
const SMALL_BYTES = 64 << 10;
/** A client that has taken nothing for so long may be ended where there is no room. */
const STANDS_STILL_MS = 2_000;

interface Tally {
  held: number;
}

/**
 * Bytes that this process holds for others, of everybody together. Limits of one request say nothing about a thousand of
 * them, and memory that has run out ends all of them.
 */
export class ByteAccount {
  readonly limits: AccountLimits;
  #held = 0;
  readonly #kinds: Record<HeldKind, number> = { requests: 0, bodies: 0, answers: 0, unread: 0, logs: 0 };
  readonly #servers = new Map<string, Tally>();
  /** Of those that hold more than a little. */
  readonly #clients = new Map<string | object, Tally>();
  readonly #endable = new Map<HeldKind, Set<ByteShare>>(ENDED_FIRST.map((kind) => [kind, new Set()]));

  constructor(limits: AccountLimits) {
    this.limits = limits;
  }

  get held(): number {
    return this.#held;
  }

  /** For telemetry. */
  byKind(): (readonly [HeldKind, number])[] {
    return KINDS.map((kind) => [kind, this.#kinds[kind]]);
  }

  /** For whoever holds several things for one request. */
  of(owner: HeldFor): Holder {
    return new Holder(this, owner);
  }

  /** What is held of one thing; nothing at first. Of the kinds `unread` and `logs` it may be endable. */
  share(kind: HeldKind, owner: HeldFor, endable?: Endable): ByteShare {
    return new ByteShare(this, kind, owner, this.#tallyOf(owner.server), endable);
  }

  /** Whether there is room for so many more, as far as one can say beforehand. */
  fits(share: ByteShare, bytes: number): boolean {
    const isWanted = this.#lack(share, bytes);
    return isWanted === undefined || this.#firstToEnd(share, isWanted) !== undefined;
  }

  /** For shares only: what was held as one kind is another one now. */
  move(share: ByteShare, from: HeldKind, to: HeldKind): void {
    this.#kinds[from] -= share.held;
    this.#kinds[to] += share.held;
    if (share.held > 0 && share.endable !== undefined) this.#endable.get(to)?.add(share);
  }

  /** For shares only: counts so many more, where there is room for them, or fewer. */
  add(share: ByteShare, bytes: number): boolean {
    if (bytes > 0 && !this.#makeRoom(share, bytes)) return false;
    const before = share.held;
    const after = before + bytes;
    this.#held += bytes;
    this.#kinds[share.kind] += bytes;
    share.ofServer.held += bytes;
    if (before > SMALL_BYTES || after > SMALL_BYTES) {
      const change = (after > SMALL_BYTES ? after : 0) - (before > SMALL_BYTES ? before : 0);
      this.#countFor(share.owner.session, change);
      this.#countFor(share.owner.connection, change);
    }
    const endable = share.endable === undefined ? undefined : this.#endable.get(share.kind);
    // Those that grew last stand last.
    if (after === 0 || bytes > 0) endable?.delete(share);
    if (bytes > 0) endable?.add(share);
    return true;
  }

  #makeRoom(share: ByteShare, bytes: number): boolean {
    for (;;) {
      const isWanted = this.#lack(share, bytes);
      if (isWanted === undefined) return true;
      const holder = this.#firstToEnd(share, isWanted);
      if (holder === undefined) return false;
      holder.end();
    }
  }

  /** Whose bytes would make room; undefined where there is enough. */
  #lack({ kind, owner, held, ofServer }: ByteShare, bytes: number): ((other: ByteShare) => boolean) | undefined {
    const { total, perServer, perClient, kinds } = this.limits;
    if (this.#held + bytes > total) return () => true;
    if (this.#kinds[kind] + bytes > (kinds?.[kind] ?? total)) return (other) => other.kind === kind;
    const { server, session, connection } = owner;
    if (ofServer.held + bytes > perServer) return (other) => other.owner.server === server;
    if (held + bytes <= SMALL_BYTES) return undefined;
    const more = held > SMALL_BYTES ? bytes : held + bytes;
    const isFull = (client: string | object | undefined): boolean =>
      client !== undefined && (this.#clients.get(client)?.held ?? 0) + more > perClient;
    if (isFull(session)) return (other) => other.owner.session === session;
    if (isFull(connection)) return (other) => other.owner.connection === connection;
    return undefined;
  }

  #firstToEnd(except: ByteShare, isWanted: (other: ByteShare) => boolean): ByteShare | undefined {
    const now = performance.now();
    for (const kind of ENDED_FIRST)
      for (const one of this.#endable.get(kind) ?? [])
        if (one !== except && isWanted(one) && one.standsStill(now)) return one;
    return undefined;
  }

  #tallyOf(server: string): Tally {
    let tally = this.#servers.get(server);
    if (tally === undefined) this.#servers.set(server, (tally = { held: 0 }));
    return tally;
  }

  #countFor(client: string | object | undefined, change: number): void {
    if (client === undefined) return;
    const tally = this.#clients.get(client);
    const held = (tally?.held ?? 0) + change;
    if (held === 0) this.#clients.delete(client);
    else if (tally === undefined) this.#clients.set(client, { held });
    else tally.held = held;
  }
}

/** Somebody for whom bytes are held. */
export class Holder implements HeldFor {
  readonly server: string;
  readonly session: string | undefined;
  readonly connection: object | undefined;
  readonly #account: ByteAccount;

  constructor(account: ByteAccount, { server, session, connection }: HeldFor) {
    this.server = server;
    this.session = session;
    this.connection = connection;
    this.#account = account;
  }

  share(kind: HeldKind, endable?: Endable): ByteShare {
    return this.#account.share(kind, this, endable);
  }
}

/** Must be given back, once or more often, however what it was held for ends. */
export class ByteShare {
  readonly owner: HeldFor;
  /** What is held for all of its server, for the account. */
  readonly ofServer: Tally;
  readonly #account: ByteAccount;
  #kind: HeldKind;
  #endable: Endable | undefined;
  #held = 0;
  #isOver = false;
  #progress: number | undefined;
  #movedAt = 0;

  constructor(account: ByteAccount, kind: HeldKind, owner: HeldFor, ofServer: Tally, endable: Endable | undefined) {
    this.#account = account;
    this.#kind = kind;
    this.owner = owner;
    this.ofServer = ofServer;
    this.#endable = endable;
  }

  get kind(): HeldKind {
    return this.#kind;
  }

  get endable(): Endable | undefined {
    return this.#endable;
  }

  get held(): number {
    return this.#held;
  }

  /** False: there is no room for so many more, and nothing has changed. */
  take(bytes: number): boolean {
    if (this.#isOver || !this.#account.add(this, bytes)) return false;
    this.#held += bytes;
    if (bytes > 0 && this.#endable?.progress !== undefined) this.#moved(this.#endable.progress());
    return true;
  }

  /** Whether there is room for so many more, as far as one can say beforehand. */
  fits(bytes: number): boolean {
    return this.#account.fits(this, bytes);
  }

  /** Holds the same as another kind, which may be endable. There is room for it: it is counted already. */
  become(kind: HeldKind, endable: Endable): void {
    const before = this.#kind;
    this.#kind = kind;
    this.#endable = endable;
    this.#account.move(this, before, kind);
    if (endable.progress !== undefined) this.#moved(endable.progress());
  }

  /** Holds so many instead. False: there is no room for what is more, and nothing has changed. */
  set(bytes: number): boolean {
    return this.take(bytes - this.#held);
  }

  /** Nothing more can be taken. */
  giveBack(): void {
    this.#isOver = true;
    this.#account.add(this, -this.#held);
    this.#held = 0;
  }

  /** For the account: others need the room. */
  end(): void {
    this.giveBack();
    this.#endable?.end();
  }

  /** For the account: whether nobody has taken anything of it for a while. */
  standsStill(now: number): boolean {
    const progress = this.#endable?.progress?.();
    if (progress === undefined) return true;
    if (progress !== this.#progress) this.#moved(progress);
    return now - this.#movedAt >= STANDS_STILL_MS;
  }

  #moved(progress: number): void {
    this.#progress = progress;
    this.#movedAt = performance.now();
  }
}

/**
 * The limits where nobody has said any. What waits is bytes, text, and then values; half of the heap is left to everything else.
 *
 * @param memory what the process may use, in bytes; `heap`: of that, for text and values; `largest`: one body, or answer;
 * `bodies`: what is configured for all of them
 * @param servers how many there are; the only one has all of it
 */
export function accountLimits(
  memory: { readonly memory: number; readonly heap: number; readonly largest: number; readonly bodies: number | null },
  servers: number,
): Required<AccountLimits> {
  const { largest, bodies } = memory;
  const total = Math.max(largest, bodies ?? 0, Math.floor(Math.min(memory.memory / 4, memory.heap / 2)));
  const atLeast = (bytes: number): number => Math.max(largest, Math.floor(bytes));
  const inHeap = atLeast(memory.heap / 4);
  return {
    total,
    perServer: servers > 1 ? atLeast(total / 2) : total,
    perClient: atLeast(total / 4),
    kinds: { bodies: bodies ?? inHeap, answers: inHeap },
  };
}
