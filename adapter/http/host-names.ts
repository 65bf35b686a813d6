import { isIP } from 'node:net';

const LOOPBACK = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
/** Ends of names that nobody can register (RFC 6761, 6762, 8375, ICANN's `.internal`), or that a cluster answers itself. */
const PRIVATE = /\.(svc|cluster\.local|local|internal|localhost|test|home\.arpa)$/;

/** Whether this address accepts connections of this machine only. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host) || host === '::1';
}

/** What `core` says, and where the program is. */
export interface HostOptions {
  /** `core.allowed_hosts` */
  readonly allowed: readonly string[];
  readonly publicBaseUrl: string | null;
  /** The address that the port is bound to. */
  readonly boundHost: string;
  /** What the system calls this machine. */
  readonly machine: string;
}

/**
 * Which `Host` is served (MCP, Streamable HTTP, security warning). A page of the web can point its own name here and then
 * reads what it asks for as if it were its own (DNS rebinding). Its address it cannot choose, so addresses are served.
 */
export class HostNames {
  readonly #names: ReadonlySet<string>;
  readonly #ends: readonly string[];
  readonly #any: boolean;
  readonly #isListed: boolean;
  readonly #loopbackOnly: boolean;
  /** The Host that was seen last and is one of ours; nearly every request of a client repeats it. */
  #last: string | undefined;

  constructor({ allowed, publicBaseUrl, boundHost, machine }: HostOptions) {
    const publicName = publicBaseUrl === null ? undefined : URL.parse(publicBaseUrl)?.hostname;
    this.#loopbackOnly = isLoopback(boundHost);
    this.#isListed = allowed.length > 0;
    this.#any = allowed.includes('*');
    this.#names = new Set([
      ...allowed.filter((one) => !one.startsWith('*')),
      ...(publicName === undefined ? [] : [publicName]),
      ...(this.#isListed || this.#loopbackOnly ? [] : [machine.toLowerCase()]),
    ]);
    this.#ends = allowed.filter((one) => one.startsWith('*.')).map((one) => one.slice(1));
  }

  /** Whether requests with this Host are answered at all. */
  serves(host: string | undefined): boolean {
    return (!this.#isListed && !this.#loopbackOnly) || this.isOwn(host);
  }

  /** Whether a trusted proxy may say that a client called us so. */
  mayBeCalled(host: string): boolean {
    return !this.#isListed || this.isOwn(host);
  }

  /** Whether `/livez` and `/readyz`, which tell nothing, are answered whatever the prober calls this server. */
  get letsProbesIn(): boolean {
    return !this.#loopbackOnly;
  }

  /**
   * Whether no foreign page can have sent this: asked for what is told to anybody. What needs a session or a signature is
   * out of such a page's reach, because its POST says where it comes from (`Origin`).
   */
  isOwn(host: string | undefined): boolean {
    if (host === undefined || host === this.#last) return true;
    const isOwn = this.#any || this.#knows(host.toLowerCase());
    if (isOwn) this.#last = host;
    return isOwn;
  }

  #knows(host: string): boolean {
    const url = URL.parse(`http://${host}`);
    // More than a host would be read in two ways.
    if (url === null || url.hostname === '' || /[/@?#\\]/.test(host)) return false;
    const name = url.hostname.replace(/\.$/, '');
    if (LOOPBACK.test(name) || this.#names.has(name) || this.#names.has(host)) return true;
    if (this.#ends.some((end) => name.endsWith(end) || host.endsWith(end))) return true;
    if (this.#loopbackOnly) return false;
    if (isIP(name.replace(/^\[|\]$/g, '')) !== 0) return true;
    return !this.#isListed && (!name.includes('.') || PRIVATE.test(name));
  }
}
