import type { ResponseSink } from '../exchange/upstream.ts';
import { failed } from './ending.ts';
import type { Operation } from './operation.ts';
import type { Reply } from './reply.ts';

/** Takes an operation over; its end is told to the reply, and nothing is thrown. */
export type Send = (operation: Operation, reply: Reply) => void;

/**
 * What the adapter does to an operation on its way in, and to the reply on its way out: passes it on by `next`, maybe with a
 * reply of its own around the given one, or answers it, or throws. What it throws, or rejects with, ends the operation.
 */
export interface Step {
  /** It has something to do only for tool calls, or only for other messages. */
  readonly concerns?: 'calls' | 'others';
  send(operation: Operation, reply: Reply, next: Send): Promise<void> | undefined | void;
}

/** Who hears what the upstream says, byte by byte. */
export interface WireSink extends ResponseSink {
  /** The operation is over: nothing more is asked for it. */
  readonly isOver: boolean;
}

/** Asks the upstream, and tells the sink what it says. */
export type Ask = (operation: Operation, sink: WireSink) => void;

/** The same for what is done before messages are read. */
export interface WireStep {
  ask(operation: Operation, sink: WireSink, next: Ask): void;
}

/** The steps in their order, as one. */
export function compose(steps: readonly Step[], last: Send): Send {
  return steps.reduceRight<Send>((next, step) => {
    return (operation, reply) => {
      try {
        const pending = step.send(operation, reply, next);
        if (pending !== undefined) pending.catch((error: unknown) => reply.end(failed(error)));
      } catch (error) {
        void reply.end(failed(error));
      }
    };
  }, last);
}

export function composeWire(steps: readonly WireStep[], last: Ask): Ask {
  return steps.reduceRight<Ask>((next, step) => (operation, sink) => step.ask(operation, sink, next), last);
}
