import type { SeenRequest } from '../../../scraper/requests/testing/test-server.ts';
import type { ReceivedLog, ReceivedPoint } from '../../../lib/otlp/testing/otlp-receiver.ts';

/** What an API says. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text as it is, anything else as JSON. */
  readonly body?: unknown;
  readonly delayMs?: number;
  /** Nothing but this, and no end. */
  readonly begun?: string;
}

/** What a source has done so far. */
export interface Seen {
  readonly name: string;
  readonly requests: readonly SeenRequest[];
  /** Most requests that were under way at a time. */
  readonly atOnce: number;
  /** Everything that was exported, in its order. */
  readonly points: readonly ReceivedPoint[];
  readonly logs: readonly ReceivedLog[];
  readonly lastError: string | null;
  /** The last values of a metric, added up over its points. */
  total(metric: string): number;
}

/** A field, and how it shows. It is tried in two sources that are alike in everything else. */
export interface FieldCase {
  readonly value: unknown;
  /** What the second source has in its place; undefined: nothing, so that the default applies. */
  readonly instead?: unknown;
  /** What both sources have besides, by their paths below the source. */
  readonly having?: Readonly<Record<string, unknown>>;
  /** What else distinguishes the second one, where the field cannot be left out alone. */
  readonly without?: Readonly<Record<string, unknown>>;
  /** What the API answers; `count` starts from 1. Default: two records. */
  readonly answer?: (request: SeenRequest, count: number) => Reply;
  /** Whether this is what a source with the value does. It must be true of the first source, and false of the second. */
  readonly shows: (seen: Seen) => boolean;
  /** Whether the API has an address of its own. */
  readonly ownHost?: boolean;
}

export type FieldCases = Readonly<Record<string, FieldCase>>;

/** What cases are made of. */
export interface World {
  /** Where the API of a case is; requests are told apart by the first part of their path. */
  readonly api: string;
  /** The same over TLS, with a certificate of an authority of its own for this address. */
  readonly tlsApi: string;
  /** The same with a certificate for the name `api.internal` only. */
  readonly namedTlsApi: string;
  /** The same as `tlsApi`, only for clients with a certificate of the authority. */
  readonly clientsTlsApi: string;
  readonly ca: string;
  readonly caFile: string;
  /** A client of this authority, and one of another. */
  readonly client: ClientFiles;
  readonly stranger: ClientFiles;
}

export interface ClientFiles {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
}

export const RECORDS = [
  { id: 1, v: 1, w: 10, kind: 'a', tag: 'x' },
  { id: 2, v: 2, w: 20, kind: 'b', tag: 'y' },
];

/** The query of the n-th request. */
export const queryOf = ({ requests }: Seen, index = 0): URLSearchParams =>
  new URL(requests[index]?.target ?? '/', 'http://x').searchParams;

/** The field of a source that a path of the schema names. */
export const inSource = (path: string): string =>
  path
    .replace(/^sources\[\]\./, '')
    .replaceAll('[]', '[0]')
    .replaceAll(/\(\w+\)/g, '');

/** Tells the sources of a case apart, also in URLs. */
export const slugOf = (path: string, isSecond: boolean): string =>
  inSource(path).replaceAll(/[^A-Za-z]+/g, '-') + kindOf(path) + (isSecond ? '.second' : '');

const kindOf = (path: string): string => /\((\w+)\)/.exec(path)?.[1] ?? '';

export const ago = (milliseconds: number): string => new Date(Date.now() - milliseconds).toISOString();
export const HOUR = 3_600_000;
