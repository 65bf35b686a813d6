/** What one run may use. Bytes are those of UTF-8 text; times are milliseconds. */
export interface SandboxLimits {
  /** Source text. More is refused before anything starts: `code_size`. */
  readonly codeBytes: number;
  /** Heap of the code: objects, strings, typed arrays. Allocating more throws in the code; uncaught: `memory`. */
  readonly memoryBytes: number;
  /** Stack of the code. Going deeper throws in the code; uncaught: `stack`. */
  readonly stackBytes: number;
  /** CPU time of the code. Waiting for calls is free. The code cannot catch its end: `compute_time`. */
  readonly computeMs: number;
  /** From start to end, waiting included: `total_time`. */
  readonly totalMs: number;
  /** Calls in all. One more ends the run: `calls`. */
  readonly calls: number;
  /** Calls at a time. Those beyond it wait for their turn, in order; the code notices only the time. */
  readonly parallelCalls: number;
  /** Arguments of one call, as JSON. A call with more throws in the code. */
  readonly argumentBytes: number;
  /** Answer to one call, as JSON. A call that is answered with more throws in the code. */
  readonly callResultBytes: number;
  /** The returned value as JSON, of which no part would be of use: `output`. Console output is cut there and says so. */
  readonly outputBytes: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

/** Enough to fetch, filter and join what some dozens of calls answer, on a machine that runs several of them. */
export const SANDBOX_LIMITS: SandboxLimits = {
  codeBytes: 256 * KIB,
  memoryBytes: 64 * MIB,
  stackBytes: 512 * KIB,
  computeMs: 3_000,
  totalMs: 120_000,
  calls: 100,
  parallelCalls: 8,
  argumentBytes: MIB,
  callResultBytes: 4 * MIB,
  outputBytes: 256 * KIB,
};
