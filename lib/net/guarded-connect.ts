import { lookup as lookupName, type LookupAddress } from 'node:dns';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import { anyOf, blockedReason, isLoopbackAddress } from './blocked-addresses.ts';

/** Which addresses a program may connect to, beside those that nobody may. */
export interface ConnectRules {
  /** Whether to the machine itself; in a pod that is the pod, where nobody but a sidecar has business. */
  readonly loopback: boolean;
  /** Whether this is the API server of the cluster, to which a pod may not connect; undefined: it may. */
  readonly isApiServer?: (host: string, address: string) => boolean;
}

/** All but what nobody may connect to. */
export const ANYWHERE: ConnectRules = { loopback: true };

/** The variable with which the operator tells programs in its pods that they have no sidecar to talk to. */
export const BLOCK_LOOPBACK = 'BLOCK_LOOPBACK';

/**
 * The variable with names and addresses of the API server, by which the operator tells programs in its pods that they may
 * not connect to it.
 */
export const BLOCK_API_SERVER = 'BLOCK_API_SERVER';

export function connectRulesFrom(env: Readonly<Record<string, string | undefined>>): ConnectRules {
  const loopback = env[BLOCK_LOOPBACK] !== 'true';
  const setting = env[BLOCK_API_SERVER] ?? '';
  if (setting === '') return { loopback };
  // What the kubelet says may be another one of its names.
  const hosts = [...setting.split(','), env['KUBERNETES_SERVICE_HOST'] ?? ''].map((host) => host.toLowerCase());
  const names = new Set(hosts.filter((host) => host !== '' && isIP(host) === 0));
  const isAddress = anyOf(hosts.filter((host) => isIP(host) !== 0));
  const isApiServer = (host: string, address: string): boolean =>
    isAddress(address) || names.has(host.toLowerCase().replace(/\.$/, ''));
  return { loopback, isApiServer };
}

/** A connection that was not made, because of where it would have led. */
export class BlockedAddress extends Error {
  override readonly name = 'BlockedAddress';
  readonly code = 'ERR_BLOCKED_ADDRESS';
}

/** Why a host may not be connected to that has this address; undefined: it may. */
export function refusal(
  host: string,
  address: string,
  { loopback, isApiServer }: ConnectRules,
): BlockedAddress | undefined {
  const leads = host === address ? `${host} is` : `${host} resolves to ${address},`;
  const blocked = blockedReason(address);
  if (blocked !== undefined) return new BlockedAddress(`refused: ${leads} ${blocked}`);
  if (isApiServer?.(host, address) === true) {
    return new BlockedAddress(`refused: ${leads} the API server of the cluster (--allow-api-server of the operator)`);
  }
  if (loopback || !isLoopbackAddress(address)) return undefined;
  return new BlockedAddress(`refused: ${leads} an address of the pod itself, which has no sidecar (podOverlay)`);
}

type Resolve = (
  host: string,
  options: { readonly all: true },
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/**
 * Resolves a name for the connection that is about to be made, which goes to what was resolved here and to nothing else.
 * One address that is refused refuses the name: no honest one has both.
 */
export function guardedLookup(rules: ConnectRules, resolve: Resolve = lookupName): LookupFunction {
  return (host, options, done) => {
    resolve(host, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return done(error, [], 0);
      for (const { address } of addresses) {
        const refused = refusal(host, address, rules);
        if (refused !== undefined) return done(refused, [], 0);
      }
      const [first] = addresses;
      if (options.all === true) done(null, addresses);
      else done(null, first?.address ?? '', first?.family);
    });
  };
}

/**
 * How undici connects, for its option `connect`. Addresses in the place of a name are never looked up, and are checked
 * by themselves; so is every hop of a redirect, which is a connection of its own.
 */
export function guardedConnector(
  options: buildConnector.BuildOptions,
  rules: ConnectRules,
  resolve?: Resolve,
): buildConnector.connector {
  const connect = buildConnector({ ...options, lookup: guardedLookup(rules, resolve) });
  return (target, done) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    const refused = isIP(host) === 0 ? undefined : refusal(host, host, rules);
    if (refused !== undefined) return done(refused, null);
    connect(target, (...made) => {
      if (made[0] === null) readInSteps(made[1]);
      done(...made);
    });
  };
}

const STEP_BYTES = 64 << 10;

/**
 * undici takes all that a connection has kept, joined, whenever it goes on with a paused answer, and puts back what it
 * does not need: of single bytes, each step would copy more than the one before.
 */
function readInSteps(socket: Socket): void {
  const read = socket.read.bind(socket) as (size?: number) => unknown;
  socket.read = (size) => read(size ?? (socket.readableLength > STEP_BYTES ? STEP_BYTES : undefined));
}
