import type { AdapterConfig } from '../../crds/config/adapter-file/adapter.ts';
import type { Redact } from '../../lib/redaction/redact.ts';
import { capped, withEscapes } from '../catalog/visible-text.ts';
import type { FileWithoutRule } from '../connect/files-without-rule.ts';
import { serverChecks } from '../connect/server-checks.ts';
import { sideBySide } from '../../lib/side-by-side.ts';
import { passingMounts, type PassingMountsOptions } from './passing-mounts.ts';
import { type ListedTools, listedTools } from '../inspect/tool-list-of.ts';
import { whyNot } from '../inspect/why-not.ts';

/** For each server, whatever it does. */
const TIMEOUT_MS = 10_000;
const MOST_AT_A_TIME = 8;
/** What a server says may be of any length. */
const MAX_CHARS = 500;
const MAX_NAME_CHARS = 60;
const MOST_EXAMPLES = 5;

export interface Connected {
  /** One line for each server, and what else there is to say of it. */
  readonly lines: readonly string[];
  /** Entries of the file that fit nothing their server has. */
  readonly problems: readonly string[];
  /** What may be meant so. */
  readonly warnings: readonly string[];
  /** Every server has said which tools it has. */
  readonly allAnswered: boolean;
}

/**
 * `--check-config --connect`: asks each server for its tools, with the credentials of the file, calls none, and compares
 * them with the file. Takes at most 10 seconds for each eight servers, and 2 more for those that refuse.
 */
export async function connectCommand(config: AdapterConfig, options: PassingMountsOptions): Promise<Connected> {
  const shown = shownWith(options.redaction.text);
  const asked = await sideBySide(passingMounts(config, options), MOST_AT_A_TIME, async (mount, index) => {
    const id = withEscapes(mount.serverId);
    try {
      const listed = await listedTools(mount, TIMEOUT_MS);
      return { answered: true, ...compared(config, index, listed, shown) };
    } catch (error) {
      return {
        answered: false,
        lines: [`${id}: ${shown(await whyNot(mount, error, 'it lists no tools'))}`],
        problems: [],
        warnings: [],
      };
    } finally {
      await mount.upstream.close();
    }
  });
  return {
    lines: asked.flatMap(({ lines }) => lines),
    problems: asked.flatMap(({ problems }) => problems),
    warnings: asked.flatMap(({ warnings }) => warnings),
    allAnswered: asked.every(({ answered }) => answered),
  };
}

type Shown = (text: string, max?: number) => string;

/** On one line, without secrets. They go first: of what is cut, half a secret must not be left. */
const shownWith =
  (redact: Redact): Shown =>
  (text, max = MAX_CHARS) =>
    capped(withEscapes(redact(text)), max);

function compared(config: AdapterConfig, index: number, { revision, list }: ListedTools, shown: Shown) {
  const { tools, problems, warnings, filesWithoutRule } = serverChecks(config, index, list);
  const { id = '' } = config.servers[index] ?? {};
  const count = `${tools} ${tools === 1 ? 'tool' : 'tools'}`;
  const line = `${withEscapes(id)}: reached, revision ${shown(revision, MAX_NAME_CHARS)}, ${count}`;
  return {
    lines: [line, ...withoutRule(filesWithoutRule, shown)],
    problems: problems.map((one) => shown(one)),
    warnings: warnings.map((one) => shown(one)),
  };
}

function withoutRule(files: readonly FileWithoutRule[], shown: Shown): string[] {
  if (files.length === 0) return [];
  const some = files
    .slice(0, MOST_EXAMPLES)
    .map(({ tool, argument }) => `${shown(tool, MAX_NAME_CHARS)} ${shown(argument, MAX_NAME_CHARS)}`);
  const more = files.length > some.length ? [`${files.length - some.length} more`] : [];
  return [`  look like files, and no entry of adapters has them: ${[...some, ...more].join(', ')}`];
}
