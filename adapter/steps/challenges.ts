import { AdapterError } from '../errors.ts';
import { metadataPath, relayedChallenge } from '../mount/challenge.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import type { Caller } from '../path/caller.ts';
import { type Ending, failed } from '../path/ending.ts';
import type { Operation } from '../path/operation.ts';
import { PassedReply, type Reply } from '../path/reply.ts';
import type { Send, Step } from '../path/step.ts';
import type { ProtectedResource } from '../upstream/protected-resource.ts';
import type { ResponseHead } from '../exchange/upstream.ts';

const PROBE_TIMEOUT_MS = 10_000;

export interface ChallengeDeps {
  readonly mount: Pick<Mount, 'path' | 'requiredHeaders'>;
  readonly resource: ProtectedResource;
  readonly client: ClientUpstream;
  /** The URL that a client has reached the adapter by, without a slash at the end. */
  readonly baseUrl: (request: Caller['request']) => string;
}

/**
 * Where clients authenticate to the upstream themselves, its challenge (401, 403) is theirs to see. The resource that they
 * know is the mount, so it is the mount's description that the challenge names (RFC 9728, section 5.1). A request without a
 * session, or without required credentials, gets the challenge that the upstream answers such requests with.
 */
export class Challenges implements Step {
  readonly #parts: ChallengeDeps;

  constructor(parts: ChallengeDeps) {
    this.#parts = parts;
  }

  send(operation: Operation, reply: Reply, next: Send): void {
    next(operation, new ChallengedReply(operation, reply, this.#parts));
  }
}

const isChallenge = (status: number): boolean => status === 401 || status === 403;

class ChallengedReply extends PassedReply {
  readonly #operation: Operation;
  readonly #parts: ChallengeDeps;
  /** What stands for the upstream's challenge. */
  #challenge: string | undefined;

  constructor(operation: Operation, next: Reply, parts: ChallengeDeps) {
    super(next);
    this.#operation = operation;
    this.#parts = parts;
  }

  override head(head: ResponseHead): void {
    this.#relay(head);
    this.next.head(head);
  }

  override end(ending: Ending): Promise<void> | undefined {
    const { error } = ending;
    if (error instanceof AdapterError && this.#asksForCredentials(error)) return this.#challenged(ending);
    if (ending.head !== undefined) this.#relay(ending.head);
    const isPlain = this.#challenge === undefined || error === undefined;
    return this.next.end(isPlain ? ending : { ...ending, ...this.#headers });
  }

  #relay(head: ResponseHead): void {
    if (!isChallenge(head.status)) return;
    const { mount, resource, baseUrl } = this.#parts;
    const own = `${baseUrl(this.#operation.caller.request)}${metadataPath(mount.path)}`;
    this.#challenge = relayedChallenge(head.headers['www-authenticate'], own, resource);
    if (this.#challenge !== undefined) head.headers['www-authenticate'] = this.#challenge;
  }

  #asksForCredentials({ code }: AdapterError): boolean {
    if (this.#operation.caller.headers.authorization !== undefined) return false;
    if (code === 'missing_session') return true;
    return code === 'missing_client_header' && this.#parts.mount.requiredHeaders.includes('authorization');
  }

  async #challenged(ending: Ending): Promise<void> {
    let status = 0;
    const onHead = (head: ResponseHead): void => {
      ({ status } = head);
      this.#relay(head);
    };
    const more = { timeoutMs: PROBE_TIMEOUT_MS, onHead };
    await this.#parts.client.ask(this.#operation, undefined, { method: 'ping' }, more).catch(() => undefined);
    if (!isChallenge(status)) return this.next.end(ending);
    const error = new AdapterError('upstream_failed', 'The upstream server asks for authorization.');
    return this.next.end(failed(error, { status, ...this.#headers }));
  }

  get #headers(): Pick<Ending, 'headers'> {
    return this.#challenge === undefined ? {} : { headers: { 'www-authenticate': this.#challenge } };
  }
}
