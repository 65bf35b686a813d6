import type { ServerResponse } from 'node:http';

interface SentEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/**
 * One SSE stream of a session. It outlives its connection: what is sent meanwhile is kept, and a GET with
 * `Last-Event-ID` can attach again (2025-03-26 and later, transports, "Resumability and Redelivery").
 */
export interface EventStream {
  readonly streamId: string;
  readonly attached: boolean;
  /** Sends one message. While nobody is attached it is kept if events have ids, else lost. */
  send(data: string): void;
  /** An event with an id and no data: gives the client something to resume from (2025-11-25). */
  prime(retryMs: number | undefined): void;
  /** Whether this stream sent the event of this id. */
  sent(eventId: string): boolean;
  /** Continues on `res` with what follows `afterEventId`; undefined: with what is sent from now on. */
  attach(res: ServerResponse, afterEventId: string | undefined): void;
  /** Closes the connection without an end; the stream goes on. */
  breakOff(): void;
  /** Closes the connection in order; the stream goes on (2025-11-25, polling). */
  detach(): void;
  /** Nothing more will be sent. */
  finish(): void;
}

/** @param nextEventId gives the ids of events; undefined: events have none, and cannot be resumed. */
export function createEventStream(streamId: string, nextEventId: (() => string) | undefined): EventStream {
  const events: SentEvent[] = [];
  let connection: ServerResponse | undefined;
  let finished = false;

  function push(data: string, prefix = ''): void {
    const event: SentEvent = { id: nextEventId?.(), data };
    if (event.id !== undefined) events.push(event);
    connection?.write(prefix + frame(event));
  }

  return {
    streamId,
    get attached() {
      return connection !== undefined;
    },
    send: (data) => push(data),
    prime: (retryMs) => push('', retryMs === undefined ? '' : `retry: ${retryMs}\n`),
    sent: (eventId) => events.some((event) => event.id === eventId),
    attach(res, afterEventId) {
      connection?.end();
      connection = res;
      res.once('close', () => {
        if (connection === res) connection = undefined;
      });
      res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      res.flushHeaders();
      if (afterEventId !== undefined) {
        const start = events.findIndex((event) => event.id === afterEventId) + 1;
        for (const event of events.slice(start)) if (event.data !== '') res.write(frame(event));
      }
      if (finished) res.end();
    },
    breakOff() {
      connection?.destroy();
      connection = undefined;
    },
    detach() {
      connection?.end();
      connection = undefined;
    },
    finish() {
      finished = true;
      connection?.end();
    },
  };
}

const frame = ({ id, data }: SentEvent): string =>
  `event: message\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`;
