import type { Refusal } from '../exchange/scanning/refusal.ts';

const COUNTED_AFTER_MS = 200;
const SILENCE_MS = 60_000;

export interface DroppedOptions {
  readonly count: (reason: Refusal, messages: number) => void;
  /** Told of each reason once a minute. */
  readonly warn: (reason: Refusal) => void;
  readonly now?: () => number;
}

/** What an upstream sends and no client gets, counted together: it may be as much as the upstream likes. */
export function droppedMessages({
  count,
  warn,
  now = () => performance.now(),
}: DroppedOptions): (reason: Refusal) => void {
  const waiting = new Map<Refusal, number>();
  const warned = new Map<Refusal, number>();
  const flush = (): void => {
    for (const [reason, messages] of waiting) count(reason, messages);
    waiting.clear();
  };
  return (reason) => {
    if (waiting.size === 0) setTimeout(flush, COUNTED_AFTER_MS).unref();
    waiting.set(reason, (waiting.get(reason) ?? 0) + 1);
    const time = now();
    if (time - (warned.get(reason) ?? -Infinity) < SILENCE_MS) return;
    warned.set(reason, time);
    warn(reason);
  };
}
