import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLUSTER_BIN, execute } from '../../cluster/kubectl.ts';
import { isInstalled } from '../../cluster/support.ts';

/** For `beforeAll`: the first use on a machine compiles it. */
export const PROMTOOL_BUILD_MS = 20 * 60_000;

const BUILD = join(import.meta.dirname, 'build');

/** Series that an expression reads: those whose metric's name is, or matches, `metric`. */
export interface Selector {
  readonly match: '=' | '=~' | '!=' | '!~' | '';
  readonly metric: string;
  /** Labels that are compared. */
  readonly labels: readonly string[];
}

/** What Prometheus' own parser makes of an expression. */
export interface Parsed {
  readonly error?: string;
  readonly selectors: readonly Selector[];
  /** Labels that aggregations and matches between two sides name, and whose they are. */
  readonly uses: readonly { readonly labels: readonly string[] | null; readonly selectors: readonly Selector[] }[];
}

/** Why there is none that was built from the present sources; undefined when there is. */
export async function whyNotBuilt(): Promise<string | undefined> {
  return await promisify(execFile)(BUILD, ['--check']).then(
    () => undefined,
    (error: { stderr?: string }) => error.stderr?.trim() || 'it cannot be looked for',
  );
}

/** Why none can run here, for `context.skip`; undefined when one can, perhaps after it has been built. */
export async function whyNoPromtool(): Promise<string | undefined> {
  return (await isInstalled('go')) ? undefined : await whyNotBuilt();
}

/** Compiles it, where that has not been done. */
export async function buildPromtool(): Promise<void> {
  await promisify(execFile)(BUILD, [], { timeout: PROMTOOL_BUILD_MS });
}

/** Runs promtool. @throws with what it says when it finds something wrong */
export const promtool = (args: readonly string[], input?: string): Promise<string> =>
  execute(join(CLUSTER_BIN, 'promtool'), args, input);

export async function parse(expressions: readonly string[]): Promise<Parsed[]> {
  return JSON.parse(await execute(join(CLUSTER_BIN, 'promql-names'), [], JSON.stringify(expressions))) as Parsed[];
}
