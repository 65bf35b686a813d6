import type { Send, Step, WireStep } from './step.ts';

/** The steps of one kind of message, in their order: those that see messages, and those behind them that see bytes. */
export interface Path {
  readonly steps: readonly Step[];
  readonly wire: readonly WireStep[];
}

/** The way of each kind of message through a mount. */
export interface Paths {
  /** `initialize`: opens a session. */
  readonly opening: Path;
  /** Messages in a session (revisions up to 2025-11-25). */
  readonly session: Path;
  /** Messages without one (2026-07-28). */
  readonly sessionless: Path;
  /** The event stream of a session (GET). */
  readonly stream: Path;
}

/** Where each kind of message is sent. */
export type Sends = Readonly<Record<keyof Paths | 'sessionCall' | 'sessionlessCall', Send>>;
