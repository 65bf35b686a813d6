import variant from '@jitl/quickjs-wasmfile-release-sync';
import {
  type CustomizeVariantOptions,
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core';

import { isDeeperThan } from './json-depth.ts';
import type { SandboxLimits } from './sandbox-limits.ts';
import type { CodeEnd } from './sandbox-messages.ts';
import { PRELUDE } from './sandbox-prelude.ts';
import { engineFailure, failureOf, FILE } from './vm-failure.ts';
import { type WasmMemory, webAssembly } from './web-assembly.ts';

/** What the code asks of the outside. */
export interface VmHost {
  call(id: number, name: string, args: string): void;
  console(text: string): void;
  /** CPU time of this thread, in milliseconds. */
  cpuMs(): number;
  /** Called now and then while code runs. */
  tick(): void;
  /** What becomes of the run is decided, though the code may go on until the engine asks whether it may. */
  decided(end: CodeEnd): void;
}

export type VmState = CodeEnd | { readonly kind: 'waiting' };

const PAGE = 65_536;
const MIB = 1_048_576;
/** The engine's own data and stack; it starts with 16 MiB. */
const ENGINE_BYTES = 16 * MIB;
/** Of arguments. Elsewhere, JSON is written with a function that calls itself. */
const MAX_DEPTH = 500;
/** Jobs between two looks at the clock and at whether the code has returned. */
const JOBS_AT_A_TIME = 1_000;
/** What the engine prints when it breaks helps nobody. Its types do not know these two. */
const QUIET = { print: () => {}, printErr: () => {} } as CustomizeVariantOptions['emscriptenModule'];

/**
 * One QuickJS with one piece of code, driven step by step: each step runs the code until it ends or waits for calls. It is
 * never disposed of: an engine that ran out of memory or stack may not survive that. Its thread ends with it.
 */
export class SandboxVm {
  readonly #limits: SandboxLimits;
  readonly #host: VmHost;
  readonly #memory: WasmMemory;
  readonly #context: QuickJSContext;
  readonly #hooks: Readonly<Record<'settle' | 'encode' | 'describe', QuickJSHandle>>;
  #main: QuickJSHandle | undefined;
  #lines = 1;
  #endsAt = Number.POSITIVE_INFINITY;
  #calls = 0;
  #sent = 0;
  #settled = 0;
  /** Decided while the code ran; what the code does after that does not count. */
  #end: CodeEnd | undefined;

  static async create(engine: object, limits: SandboxLimits, host: VmHost): Promise<SandboxVm> {
    // Text is copied to the engine outside of the heap that it limits, and that heap can be fragmented.
    const bytes = ENGINE_BYTES + limits.memoryBytes * 1.25 + 2 * (limits.callResultBytes + limits.codeBytes);
    const memory = new webAssembly.Memory({ initial: ENGINE_BYTES / PAGE, maximum: Math.ceil(bytes / PAGE) });
    const options: CustomizeVariantOptions = { wasmModule: engine, wasmMemory: memory, emscriptenModule: QUIET };
    const base = variant as unknown as QuickJSSyncVariant;
    const quickjs = await newQuickJSWASMModuleFromVariant(newVariant(base, options));
    return new SandboxVm(quickjs, memory, limits, host);
  }

  private constructor(quickjs: QuickJSWASMModule, memory: WasmMemory, limits: SandboxLimits, host: VmHost) {
    this.#limits = limits;
    this.#host = host;
    this.#memory = memory;
    this.#context = quickjs.newContext();
    const { runtime } = this.#context;
    runtime.setMaxStackSize(limits.stackBytes);
    runtime.setMemoryLimit(limits.memoryBytes);
    const prelude = this.#installPrelude();
    const hook = (name: string): QuickJSHandle => this.#context.getProp(prelude, name);
    this.#hooks = { settle: hook('settle'), encode: hook('encode'), describe: hook('describe') };
    runtime.setInterruptHandler(() => {
      host.tick();
      return this.#isOver();
    });
  }

  /** Runs the body of an async function up to its end or its first wait. */
  start(code: string): VmState {
    return this.#step(() => {
      this.#lines = code.split('\n').length;
      this.#endsAt = this.#host.cpuMs() + this.#limits.computeMs;
      // What closes the function early is no function body here: a statement cannot begin with what a method may be
      // followed by.
      const checked = this.#context.evalCode(`async function code() {\n${code}\n}`, FILE, {
        type: 'global',
        compileOnly: true,
      });
      if (checked.error !== undefined) return this.#failed(checked.error, 'syntax');
      checked.dispose();
      const method = this.#context.evalCode(`({ async code() {\n${code}\n} }).code`, FILE, { type: 'global' });
      if (method.error !== undefined) return this.#failed(method.error, 'syntax');
      const main = this.#context.callFunction(method.value, this.#context.undefined);
      if (main.error !== undefined) return this.#failed(main.error);
      this.#main = main.value;
      return this.#drive(main.value);
    });
  }

  /** Gives the code the answer to a call, and runs it on. */
  settle(id: number, ok: boolean, text: string): VmState {
    return this.#step(() => {
      this.#settled++;
      const { undefined: nothing, true: yes, false: no } = this.#context;
      const args = [this.#context.newNumber(id), ok ? yes : no, this.#context.newString(text)];
      if (!args.every((arg) => KNOWN_TYPES.has(this.#context.typeof(arg)))) return engineFailure(null, true);
      const result = this.#context.callFunction(this.#hooks.settle, nothing, args);
      for (const arg of args) arg.dispose();
      if (result.error !== undefined) return this.#failed(result.error);
      result.dispose();
      if (this.#main === undefined) throw new Error('nothing runs');
      return this.#drive(this.#main);
    });
  }

  #installPrelude(): QuickJSHandle {
    const context = this.#context;
    const host = context.newObject();
    context.setProp(
      host,
      'admit',
      context.newFunction('admit', (length, text) => this.#admit(length, text)),
    );
    const send = context.newFunction('send', (id, name, args) => {
      if (id === undefined || name === undefined || args === undefined) throw new TypeError('three arguments');
      this.#sent++;
      this.#host.call(context.getNumber(id), textOf(context, name), context.getString(args));
    });
    context.setProp(host, 'send', send);
    const print = context.newFunction('print', (text) => {
      if (text !== undefined) this.#host.console(textOf(context, text));
    });
    context.setProp(host, 'print', print);
    const limits = context.newObject();
    for (const name of ['parallelCalls', 'outputBytes'] as const) {
      context.setProp(limits, name, context.newNumber(this.#limits[name]));
    }
    const install = context.unwrapResult(context.evalCode(PRELUDE, 'prelude', { type: 'global', strict: true }));
    return context.unwrapResult(context.callFunction(install, context.undefined, host, limits));
  }

  /** Counts a call. Gives the message of the error that it throws instead, if it cannot be made. */
  #admit(length?: QuickJSHandle, text?: QuickJSHandle): QuickJSHandle | undefined {
    if (length === undefined || text === undefined) throw new TypeError('two arguments');
    const { calls, argumentBytes } = this.#limits;
    if (++this.#calls > calls) {
      const message = `the code made more than ${calls} calls`;
      this.#decide({ kind: 'failed', reason: 'calls', message });
      return this.#context.newString(message);
    }
    // Long ones are not even looked at.
    const fits = this.#context.getNumber(length) <= argumentBytes;
    const json = fits ? this.#context.getString(text) : '';
    if (!fits || Buffer.byteLength(json) > argumentBytes) {
      return this.#context.newString(`call_tool: the arguments are longer than ${argumentBytes} bytes`);
    }
    if (!isDeeperThan(json, MAX_DEPTH)) return undefined;
    return this.#context.newString(`call_tool: the arguments are nested deeper than ${MAX_DEPTH} levels`);
  }

  #step(run: () => VmState): VmState {
    try {
      const state = run();
      return this.#end ?? state;
    } catch (error) {
      return this.#end ?? engineFailure(error, this.#isFull());
    }
  }

  #decide(end: CodeEnd): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#host.decided(end);
  }

  /** Asked by the engine while it runs code: whether to stop, which the code cannot catch. */
  #isOver(): boolean {
    if (this.#end === undefined && this.#host.cpuMs() > this.#endsAt) {
      const message = `the code computed for longer than ${this.#limits.computeMs / 1000} s`;
      this.#decide({ kind: 'failed', reason: 'compute_time', message });
    }
    return this.#end !== undefined;
  }

  #drive(main: QuickJSHandle): VmState {
    const { runtime } = this.#context;
    for (;;) {
      const state = this.#context.getPromiseState(main);
      if (state.type === 'fulfilled') return this.#returned(state.value);
      if (state.type === 'rejected') return this.#failed(state.error);
      if (this.#isOver()) return { kind: 'waiting' };
      if (!runtime.hasPendingJob()) return this.#stands();
      const ran = runtime.executePendingJobs(JOBS_AT_A_TIME);
      if (ran.error !== undefined) return this.#failed(ran.error);
      this.#host.tick();
    }
  }

  /** Nothing is left to do: a call has to be answered, or nothing will ever happen. */
  #stands(): VmState {
    if (this.#sent > this.#settled) return { kind: 'waiting' };
    // A promise whose settling found no memory stays as it is.
    if (this.#isFull()) return engineFailure(null, true);
    return { kind: 'failed', reason: 'error', message: 'the code waits for something that never comes' };
  }

  #returned(value: QuickJSHandle): VmState {
    const encoded = this.#context.callFunction(this.#hooks.encode, this.#context.undefined, value);
    if (encoded.error !== undefined) return this.#failed(encoded.error, 'error', 'the returned value is not JSON: ');
    const type = this.#context.typeof(encoded.value);
    if (type === 'undefined') return { kind: 'returned', value: undefined };
    const { outputBytes } = this.#limits;
    if (type === 'string') {
      const text = this.#context.getString(encoded.value);
      if (Buffer.byteLength(text) <= outputBytes) return { kind: 'returned', value: text };
    }
    const message = `the returned value is longer than ${outputBytes} bytes as JSON: return less, such as a part or a count`;
    return { kind: 'failed', reason: 'output', message };
  }

  #failed(error: QuickJSHandle, reason: 'syntax' | 'error' = 'error', what = ''): VmState {
    if (this.#isOver()) return { kind: 'waiting' };
    const described = this.#context.callFunction(this.#hooks.describe, this.#context.undefined, error);
    if (described.error !== undefined) return engineFailure(described.error, this.#isFull());
    const known = { reason, what, full: this.#isFull(), lines: this.#lines };
    return failureOf(this.#context.getString(described.value), known);
  }

  /** Whether much of the heap has been in use: WebAssembly's memory never shrinks. */
  #isFull(): boolean {
    return this.#memory.buffer.byteLength >= ENGINE_BYTES / 3 + this.#limits.memoryBytes / 2;
  }
}

/** Of the arguments of `settle`: a value for which there was no memory has none of them. */
const KNOWN_TYPES = new Set(['number', 'boolean', 'string']);

function textOf(context: QuickJSContext, json: QuickJSHandle): string {
  return String(JSON.parse(context.getString(json)));
}
