import { request as httpRequest, type IncomingMessage } from 'node:http';

import { boundedText } from '../../../lib/net/bounded-text.ts';
import { parseJson, REQUEST_LIMITS } from '../../../lib/json/json-limits.ts';
import type { Cluster } from './connect.ts';
import { UnreachableError } from './failures.ts';
import { type PodPort, portForward } from './port-forward.ts';

export interface PodRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With the query. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  readonly body?: object;
  /** For all of it, in milliseconds. Default: 30 s. */
  readonly timeoutMs?: number;
}

export interface PodAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 16 << 20;

/** One HTTP request to a port of a pod, through the API server. @throws ApiError, UnreachableError */
export async function askPod(cluster: Cluster, at: PodPort, asked: PodRequest): Promise<PodAnswer> {
  const { method, path, headers = {}, body, timeoutMs = TIMEOUT_MS } = asked;
  const signal = AbortSignal.timeout(timeoutMs);
  const stream = await portForward(cluster, at);
  try {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = httpRequest({
      method,
      path,
      createConnection: () => stream,
      headers: {
        host: 'localhost',
        connection: 'close',
        accept: 'application/json',
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
        ...headers,
      },
      signal,
    });
    request.once('response', resolve).once('error', reject);
    request.end(text);
    const response = await promise;
    const answer = await boundedText(response, MAX_BYTES);
    return { status: response.statusCode ?? 0, headers: response.headers, text: answer };
  } catch (error) {
    if (error instanceof UnreachableError) throw error;
    const why = signal.aborted ? `no answer within ${timeoutMs / 1000} s` : (error as Error).message;
    throw new UnreachableError(`pod ${at.pod}, port ${at.port}: ${why}`, { cause: error });
  } finally {
    stream.destroy();
  }
}

/** The JSON of an answer. @throws UnreachableError where it is none */
export function jsonOf({ text, status }: PodAnswer, pod: string): unknown {
  try {
    return parseJson(text, REQUEST_LIMITS);
  } catch (error) {
    throw new UnreachableError(`pod ${pod} answered ${status} with something else than JSON`, { cause: error });
  }
}
