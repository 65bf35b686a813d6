import type { IncomingHttpHeaders } from 'node:http';

import type { Access } from '../access/access.ts';
import type { Holder } from '../byte-account.ts';
import type { RequestAttributes } from '../exchange/request-attributes.ts';
import type { RequestTrace } from '../exchange/request-trace.ts';

/** Who asks, past authentication. */
export interface Caller {
  readonly headers: IncomingHttpHeaders;
  /** How the client reached us, as the connection or a trusted proxy says. */
  readonly request: { readonly protocol: string; readonly host: string; readonly ip?: string };
  /** Keyed hash of who is calling (`Identity.key`), '' when authentication is off. */
  readonly principal: string;
  /** What it may do; undefined: everything. */
  readonly access?: Access | undefined;
  /** For whom what waits is counted. */
  readonly holder: Holder;
  /** What log and telemetry say about it; filled in on the way. */
  readonly attributes: RequestAttributes;
  /** The request whose code makes this one (code mode), where that is traced. */
  readonly within?: RequestTrace | undefined;
}
