import { HttpCaller, type HttpCallerDeps } from '../callers/http-caller.ts';
import { MemoryCaller } from '../callers/memory-caller.ts';
import type { ControlMessage } from '../state/message-bus.ts';
import { ClientUpstream, type ClientUpstreamDeps } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import { type PathDeps, paths, sends } from './paths.ts';

/** A cancelled request that the upstream leaves unanswered is given up after this long. */
const CANCEL_GRACE_MS = 5_000;

/** What the gateway works with; one of each per program. */
export type GatewayDeps = HttpCallerDeps & PathDeps & Omit<ClientUpstreamDeps, 'onError'>;

/** The mounts of this replica as clients reach them, and what replicas tell each other of their sessions. */
export class Gateway {
  readonly #parts: GatewayDeps;
  readonly #callers = new Map<string, { readonly http: HttpCaller; readonly memory: MemoryCaller }>();

  constructor(parts: GatewayDeps) {
    this.#parts = parts;
    parts.bus.onControl((message) => this.#onControl(message));
  }

  /** Who takes what clients send to a mount over HTTP. */
  http(mount: Mount): HttpCaller {
    let callers = this.#callers.get(mount.serverId);
    if (callers === undefined) {
      const parts = this.#parts;
      const client = new ClientUpstream(mount, { ...parts, onError: (error) => void parts.known(error) });
      const ways = sends(mount, paths(mount, client, parts));
      callers = {
        http: new HttpCaller(mount, client, ways, parts),
        memory: new MemoryCaller(mount, client, ways, parts),
      };
      this.#callers.set(mount.serverId, callers);
    }
    return callers.http;
  }

  /** Who takes what code calls that runs within a call to a server. */
  memory(serverId: string): MemoryCaller {
    const callers = this.#callers.get(serverId);
    if (callers === undefined) throw new Error(`${serverId} is not mounted`);
    return callers.memory;
  }

  /** What another replica, or this one, has found out about a session. */
  #onControl(message: ControlMessage): void {
    const running = this.#parts.running.of(message.serverId, message.sessionId);
    switch (message.type) {
      case 'session-ended':
        for (const one of running) {
          if (one.isGet) one.endStream();
          else one.finish('session_ended');
        }
        break;
      case 'drop-get':
        for (const one of running) if (one.isGet && one.id !== message.except) one.endStream();
        break;
      case 'cancelled':
        for (const one of running) {
          if (one.idTexts.includes(message.requestId)) one.cancel(message.requestId, CANCEL_GRACE_MS);
        }
        break;
      case 'notify':
        // Every message goes to the client on exactly one stream (MCP, Streamable HTTP).
        for (const one of running) if (one.isGet && one.notify(message.text)) break;
        break;
      case 'upstream-closed':
      case 'stream-opened':
      case 'stream-coming':
      case 'stream-settled':
      case 'subscribed':
        break;
    }
  }
}
