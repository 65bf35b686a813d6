/** The program of a worker: one piece of code in one engine. The thread is ended from outside. */
import { parentPort, workerData } from 'node:worker_threads';

import type { CodeEnd, FromWorker, ToWorker, WorkerStart } from './sandbox-messages.ts';
import { SandboxVm, type VmState } from './sandbox-vm.ts';

/** Console output is sent in pieces of about this size, or this old: the host must not drown in messages. */
const PIECE_LENGTH = 8_192;
const PIECE_AGE_MS = 20;

const port = parentPort;
if (port === null) throw new Error('sandbox-worker is started as a worker');
const { engine, limits } = workerData as WorkerStart;

const send = (message: FromWorker): void => port.postMessage(message);

let text = '';
let sentAt = 0;
let bytesLeft = limits.outputBytes;

function print(line: string): void {
  if (bytesLeft < 0) return;
  bytesLeft -= Buffer.byteLength(line);
  text += bytesLeft < 0 ? `… (the rest of the console output is cut: more than ${limits.outputBytes} bytes)\n` : line;
  flushSometimes();
}

function flushSometimes(): void {
  if (text.length >= PIECE_LENGTH || performance.now() - sentAt >= PIECE_AGE_MS) flush();
}

function flush(): void {
  if (text !== '') send({ kind: 'console', text });
  text = '';
  sentAt = performance.now();
}

let settled = 0;

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

const call = (id: number, name: string, args: string): void => send({ kind: 'call', id, name, args });
const decided = (end: CodeEnd): void => {
  flush();
  send({ kind: 'end', end });
};
const vm = await SandboxVm.create(engine, limits, { call, console: print, cpuMs, tick: flushSometimes, decided });

port.on('message', (message: ToWorker) => {
  if (message.kind === 'run') {
    send({ kind: 'started' });
    report(vm.start(message.code));
    return;
  }
  settled++;
  report(vm.settle(message.id, message.ok, message.text));
});

function report(state: VmState): void {
  flush();
  send(state.kind === 'waiting' ? { kind: 'waiting', settled } : { kind: 'end', end: state });
}
