export interface WasmMemory {
  /** Another one after each growth. */
  readonly buffer: ArrayBufferLike;
}

/** The part of WebAssembly that the sandbox uses. TypeScript knows it only together with the browser's types. */
interface WebAssemblyApi {
  readonly compile: (bytes: Uint8Array) => Promise<object>;
  readonly Memory: new (options: { readonly initial: number; readonly maximum: number }) => WasmMemory;
}

export const webAssembly = (globalThis as unknown as { readonly WebAssembly: WebAssemblyApi }).WebAssembly;
