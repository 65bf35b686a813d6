import { type DestinationStream, pino } from 'pino';

import { escapeLine } from '../../../lib/redaction/escape-line.ts';

export interface LineSink {
  /** A line of the log: pino's number of the level, and what the line was made of, all of which has been redacted. */
  take(level: number, fields: LineFields, message: string | undefined): void;
}

export type LineFields = Readonly<Record<string, unknown>>;

/** Where the lines of the log go: to a stream, and once there is one, to a sink that passes them on elsewhere. */
export class LogOutput implements DestinationStream {
  /** pino then leaves what a line is made of in the members below before it writes it. */
  readonly [pino.symbols.needsMetadataGsym] = true;
  lastLevel = 0;
  lastObj: object = {};
  lastMsg: string | undefined;
  /** The stream alone. What is said there of the sink cannot come back to it. */
  readonly local: DestinationStream;
  #sink: LineSink | undefined;

  constructor(stream: DestinationStream = pino.destination({ fd: 1, sync: true })) {
    this.local = { write: (line) => stream.write(escapeLine(line)) };
  }

  copyTo(sink: LineSink | undefined): void {
    this.#sink = sink;
  }

  write(line: string): void {
    this.local.write(line);
    this.#sink?.take(this.lastLevel, this.lastObj as LineFields, this.lastMsg);
  }
}
