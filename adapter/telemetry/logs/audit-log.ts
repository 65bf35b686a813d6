import { maskIds, type Redact, type Redaction } from '../../../lib/redaction/redact.ts';
import { escapeLine } from '../../../lib/redaction/escape-line.ts';
import { callsOf, type RequestAttributes } from '../../exchange/request-attributes.ts';
import { AuditFile } from './audit-file.ts';
import { shorten } from './logger.ts';
import { toolCallResult } from '../outcome-labels.ts';
import type { NestedCallObservation, RequestObservation } from '../telemetry.ts';

export interface AuditLogOptions {
  /** Null: the lines go to `stdout`. */
  readonly path: string | null;
  readonly stdout: { write(line: string): void };
  readonly redaction: Redaction;
  readonly onDropped: (reason: 'write_failed', lines: number) => void;
  /** Told of a file that cannot be written, once a minute at most. */
  readonly warn: (message: string) => void;
}

/** Enough to tell callers apart. */
const PRINCIPAL_CHARS = 16;
/** Clients may call tools by names of any length. */
const MAX_NAME_CHARS = 200;
const WARN_MS = 60_000;

type Ended = Pick<
  NestedCallObservation,
  'attributes' | 'principal' | 'seconds' | 'bytesIn' | 'bytesOut' | 'parentRequestId'
>;

/** Who called which tool: a JSON line for each call, with neither its arguments nor its result. Calls never wait for it. */
export class AuditLog {
  readonly #options: AuditLogOptions;
  readonly #text: Redact;
  readonly #file: AuditFile | undefined;
  #lost = 0;
  #warned = -Infinity;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#text = options.redaction.and(maskIds).text;
    if (options.path === null) return;
    this.#file = new AuditFile({
      path: options.path,
      onLost: (lines) => {
        this.#lost += lines;
        options.onDropped('write_failed', lines);
      },
      onTrouble: (error) => this.#trouble(error),
    });
  }

  request(observed: RequestObservation): void {
    this.nestedCall(observed);
  }

  /** A call by code is one like any other, and names the request that runs the code. */
  nestedCall(observed: Ended): void {
    for (const call of callsOf(observed.attributes)) {
      const line = escapeLine(`${JSON.stringify(this.#entry(observed, call))}\n`);
      if (this.#file === undefined) this.#options.stdout.write(line);
      else this.#file.append(line);
    }
  }

  /** Goes on with a new file where the old one has been moved away (log rotation). */
  reopen(): void {
    this.#file?.reopen();
  }

  /** Writes what waits, for two seconds at most. */
  async close(): Promise<void> {
    await this.#file?.close();
  }

  #entry(
    { attributes, principal, seconds, bytesIn, bytesOut, parentRequestId }: Ended,
    call: Pick<RequestAttributes, 'tool' | 'failure' | 'argumentsHash'>,
  ): object {
    return {
      // On standard output, lines of the log stand between these.
      audit: 'tool_call',
      time: new Date().toISOString(),
      request_id: attributes.requestId,
      parent_request_id: parentRequestId,
      caller: attributes.caller,
      client: attributes.client,
      principal: principal === '' ? undefined : principal.slice(0, PRINCIPAL_CHARS),
      server: attributes.serverId,
      session: attributes.sessionId === undefined ? undefined : shorten(attributes.sessionId),
      tool: this.#text(call.tool ?? '').slice(0, MAX_NAME_CHARS),
      outcome: attributes.outcome,
      is_error: toolCallResult(attributes, call.failure) !== 'success',
      bytes_in: bytesIn,
      bytes_out: bytesOut,
      duration_ms: Math.round(seconds * 100_000) / 100,
      arguments_hmac: call.argumentsHash,
    };
  }

  #trouble(error: unknown): void {
    const now = performance.now();
    if (now - this.#warned < WARN_MS) return;
    this.#warned = now;
    const lost = this.#lost === 0 ? '' : `; ${this.#lost} lines are lost`;
    this.#options.warn(
      `the audit log cannot be written: ${error instanceof Error ? error.message : String(error)}${lost}`,
    );
  }
}
