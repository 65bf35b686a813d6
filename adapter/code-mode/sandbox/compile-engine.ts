import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

import { webAssembly } from './web-assembly.ts';

const ENGINE = '@jitl/quickjs-wasmfile-release-sync/wasm';

/** A WebAssembly.Module: compiled once; every worker makes an instance of it. */
export async function compileEngine(): Promise<object> {
  return await webAssembly.compile(await readFile(createRequire(import.meta.url).resolve(ENGINE)));
}
