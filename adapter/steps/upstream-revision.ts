import { AdapterError } from '../errors.ts';
import { type Message, modernRevision, SESSIONLESS_REVISION } from '../exchange/message.ts';
import { headerMismatch } from '../exchange/sessionless-headers.ts';
import { LOG_LEVELS } from '../bridge/wire/log-levels.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { ToolParameters } from '../tools/tool-parameters.ts';
import { noWorkspace } from '../sessions/workspace-record.ts';
import type { Operation } from '../path/operation.ts';
import type { Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { RevisionProbe } from '../upstream/revision-probe.ts';
import { META } from '../exchange/protocol-meta.ts';

/**
 * Lets messages of the sessionless revision (MCP 2026-07-28) pass to upstreams that speak it, or that the bridge reaches, when
 * their headers say what stands in them. The client is known by what it authenticates with, in place of a session.
 */
export class UpstreamRevision implements Step {
  readonly #revisions: Pick<RevisionProbe, 'of'>;
  readonly #client: ClientUpstream;
  readonly #toolParameters: Pick<ToolParameters, 'mismatch'>;
  readonly #now: () => number;
  readonly #declined: Send;
  readonly #isBridged: boolean;

  /**
   * @param now the store's clock
   * @param isBridged an upstream of earlier revisions is asked all the same
   * @param declined where messages go when the upstream knows the revision and speaks another: what it refuses is said in its own words
   */
  constructor(
    revisions: Pick<RevisionProbe, 'of'>,
    client: ClientUpstream,
    toolParameters: Pick<ToolParameters, 'mismatch'>,
    now: () => number,
    declined: Send,
    isBridged: boolean,
  ) {
    this.#isBridged = isBridged;
    this.#revisions = revisions;
    this.#client = client;
    this.#toolParameters = toolParameters;
    this.#now = now;
    this.#declined = declined;
  }

  async send(operation: Operation, reply: Reply, next: Send): Promise<void> {
    const { serverId, caller, body } = operation;
    operation.record = noWorkspace(serverId, caller.principal, this.#now());
    const listing = this.#client.listing(operation);
    const { clientKey, base } = listing;
    const family = await this.#revisions.of(clientKey, base, operation.trace).catch((error: unknown) => {
      throw new AdapterError('upstream_unreachable', undefined, { cause: error });
    });
    operation.isBridged = this.#isBridged && (family === 'legacy' || family === 'declined');
    if (!operation.isBridged) {
      if (family === 'legacy') throw new AdapterError('legacy_upstream');
      if (family === 'declined') return this.#declined(operation, reply);
    }
    const message = body.messages[0] as Message;
    const mismatch =
      headerMismatch(message, caller.headers) ??
      (await this.#toolParameters.mismatch(listing, message, caller.headers));
    if (mismatch !== undefined) throw new AdapterError('header_mismatch', mismatch);
    if (operation.isBridged) requireMetadata(message);
    next(operation, reply);
  }
}

/** What an upstream of the newer revision would refuse (MCP 2026-07-28, per-request metadata). */
function requireMetadata(message: Message): void {
  if (message.kind !== 'request') return;
  const meta = message.params['_meta'] as Readonly<Record<string, unknown>> | undefined;
  const revision = modernRevision(message);
  if (revision === undefined) throw new AdapterError('invalid_metadata', 'params._meta names no protocolVersion.');
  if (revision !== SESSIONLESS_REVISION) {
    const data = { supported: [SESSIONLESS_REVISION], requested: revision };
    throw new AdapterError('unsupported_revision', undefined, { data });
  }
  const capabilities = meta?.[META.clientCapabilities];
  if (typeof capabilities !== 'object' || capabilities === null) {
    throw new AdapterError('invalid_metadata', 'params._meta names no clientCapabilities.');
  }
  const level = meta?.[META.logLevel];
  if (level === undefined || (typeof level === 'string' && LOG_LEVELS.has(level))) return;
  throw new AdapterError(
    'invalid_metadata',
    `params._meta names a logLevel that is none of ${[...LOG_LEVELS].join(', ')}.`,
  );
}
