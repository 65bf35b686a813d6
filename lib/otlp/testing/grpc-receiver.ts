import { Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData } from '@grpc/grpc-js';
import { decodeRequest, type ReceivedRequest } from './otlp-receiver.ts';

/** A real OTLP/gRPC server that acknowledges everything. */
export class GrpcReceiver implements AsyncDisposable {
  readonly requests: ReceivedRequest[] = [];
  readonly #server = new Server();
  readonly #credentials: ServerCredentials;
  readonly #scheme: string;

  constructor(credentials?: ServerCredentials) {
    this.#credentials = credentials ?? ServerCredentials.createInsecure();
    this.#scheme = credentials === undefined ? 'http' : 'https';
    for (const [name, signal] of [
      ['Metrics', 'metrics'],
      ['Logs', 'logs'],
      ['Trace', 'trace'],
    ] as const) {
      const path = `/opentelemetry.proto.collector.${signal}.v1.${name}Service/Export`;
      const definition = {
        path,
        requestStream: false,
        responseStream: false,
        requestSerialize: asItIs,
        requestDeserialize: asItIs,
        responseSerialize: asItIs,
        responseDeserialize: asItIs,
      };
      const receive = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
        this.requests.push(decodeRequest(path, { ...call.metadata.getMap() }, call.request));
        done(null, Buffer.alloc(0));
      };
      this.#server.addService({ Export: definition }, { Export: receive });
    }
  }

  /** Returns its endpoint. */
  async listen(): Promise<string> {
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync('127.0.0.1:0', this.#credentials, (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return `${this.#scheme}://127.0.0.1:${port}`;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown();
    return Promise.resolve();
  }
}

const asItIs = (value: Buffer): Buffer => value;
