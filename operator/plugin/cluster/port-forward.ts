import { Duplex } from 'node:stream';

import { WebSocket } from 'undici';

import { queryOf } from '../../kubernetes/api-paths.ts';
import { dispatcherFor } from '../../kubernetes/api-transport.ts';
import { ApiError } from '../../kubernetes/kubernetes.ts';
import type { Cluster } from './connect.ts';
import { UnreachableError } from './failures.ts';

export interface PodPort {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
}

/** Each message begins with the number of its channel, and the first of a channel with the port in two bytes. */
const PROTOCOL = 'v4.channel.k8s.io';
const DATA = 0;
const ERRORS = 1;
const PORT_BYTES = 2;
const OPEN_MS = 15_000;

/**
 * A connection to a port of a pod, on whatever address of the pod it listens, through the API server. It stands when this
 * resolves; that nothing listens there is an error of the stream.
 * Source: Kubernetes, "port forwarding over WebSockets", and k8s.io/kubelet, portforward/websocket.go.
 *
 * @throws ApiError where the API server refuses, UnreachableError where it does not answer
 */
export async function portForward(cluster: Cluster, at: PodPort): Promise<Duplex> {
  const { namespace, pod, port } = at;
  const name = (text: string): string => encodeURIComponent(text);
  const path = `/api/v1/namespaces/${name(namespace)}/pods/${name(pod)}/portforward${queryOf({ ports: port })}`;
  const connection = await cluster.credentials.current();
  const dispatcher = dispatcherFor(connection, 1);
  const url = `${connection.server.replace(/^http/, 'ws')}${path}`;
  const socket = new WebSocket(url, { protocols: [PROTOCOL], headers: { ...connection.headers }, dispatcher });
  socket.binaryType = 'arraybuffer';
  const opened = await isOpen(socket);
  if (!opened) {
    socket.close();
    await dispatcher.destroy();
    throw await whyRefused(cluster, path, at);
  }
  return streamOf(socket, `${pod}:${port}`, () => void dispatcher.destroy());
}

/** Resolves with true once messages can be sent, with false once they never can. */
function isOpen(socket: WebSocket): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), OPEN_MS);
  socket.addEventListener('open', () => resolve(true), { once: true });
  socket.addEventListener('error', () => resolve(false), { once: true });
  socket.addEventListener('close', () => resolve(false), { once: true });
  return promise.finally(() => clearTimeout(timer));
}

/** A failed WebSocket does not tell what the answer was. The same request without one gets it in words. */
async function whyRefused({ transport }: Cluster, path: string, { pod, namespace }: PodPort): Promise<Error> {
  try {
    await transport.json({ method: 'GET', path, signal: AbortSignal.timeout(OPEN_MS) });
  } catch (error) {
    // 400: it would have been upgraded.
    if (error instanceof ApiError && error.code !== 400) return inWords(error, namespace);
    if (!(error instanceof ApiError)) {
      return new UnreachableError(`the API server does not answer: ${(error as Error).message}`, { cause: error });
    }
  }
  return new UnreachableError(`the API server could not connect to the pod ${pod}`);
}

/** Who may `get` port forwarding and not `create` it is refused without a word of why. */
function inWords(error: ApiError, namespace: string): ApiError {
  if (error.code !== 403 || error.message.includes('cannot')) return error;
  const why = `cannot create resource "pods/portforward" in the namespace "${namespace}"`;
  return new ApiError(error.code, error.reason, `${error.message.trim()} ${why}`);
}

function streamOf(socket: WebSocket, what: string, closed: () => void): Duplex {
  /** Bytes of each channel that are still the port's. */
  const heads = [PORT_BYTES, PORT_BYTES];
  const stream = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      socket.send(Buffer.concat([Buffer.of(DATA), chunk]));
      done();
    },
    final: (done) => done(),
    destroy(error, done) {
      socket.close();
      closed();
      done(error);
    },
  });
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    const channel = bytes[0] ?? -1;
    const head = heads[channel];
    if (head === undefined) {
      stream.destroy(new Error(`channel ${channel} of ${what} is not known`));
      return;
    }
    const skipped = Math.min(head, bytes.length - 1);
    heads[channel] = head - skipped;
    const rest = bytes.subarray(1 + skipped);
    if (rest.length === 0) return;
    if (channel === ERRORS) stream.destroy(new UnreachableError(`${what}: ${rest.toString('utf8').trim()}`));
    else stream.push(rest);
  });
  socket.addEventListener('error', () => stream.destroy(new UnreachableError(`${what}: the connection broke off`)));
  socket.addEventListener('close', () => stream.push(null));
  return stream;
}
