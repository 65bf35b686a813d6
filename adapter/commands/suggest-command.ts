import { redactionOf } from '../../crds/config/adapter-file/redact-config.ts';
import { loadAdapterFile } from '../../crds/config/load/load.ts';
import { ConfigError } from '../../crds/config/load/problem.ts';
import { ANSWER_LIMITS, parseJson } from '../../lib/json/json-limits.ts';
import type { Environment } from '../../lib/references/reference.ts';
import { withEscapes } from '../catalog/visible-text.ts';
import { passingMounts } from './passing-mounts.ts';
import { listedTool } from '../suggest/listed-tool.ts';
import {
  readSuggestOptions,
  SUGGEST_USAGE,
  SuggestUsageError,
  type SuggestOptions,
} from '../suggest/suggest-options.ts';
import { suggestRoles, type SuggestedRoles } from '../suggest/suggest-roles.ts';
import { suggestedYaml } from '../suggest/suggested-yaml.ts';
import { createLogger } from '../telemetry/logs/logger.ts';
import { toolListOf } from '../inspect/tool-list-of.ts';
import { HandshakeFailed } from '../upstream/handshake.ts';

export interface CommandResult {
  readonly exitCode: 0 | 2 | 3;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * `mcp-adapter suggest`: what the tools of a server suggest for its `adapters`.
 * @param args what stands behind `suggest`
 */
export async function suggestCommand(
  args: readonly string[],
  env: Environment,
  version: string,
): Promise<CommandResult> {
  let options: SuggestOptions;
  let loaded: ReturnType<typeof loadAdapterFile>;
  try {
    options = readSuggestOptions(args);
    if (options.action === 'help') return { exitCode: 0, stdout: SUGGEST_USAGE, stderr: '' };
    loaded = loadAdapterFile(fileFor(options), env);
  } catch (error) {
    if (!(error instanceof SuggestUsageError || error instanceof ConfigError)) throw error;
    return { exitCode: 2, stdout: '', stderr: `${wrongUse(error)}Try 'mcp-adapter suggest --help'.\n` };
  }
  const redaction = redactionOf(loaded.config, env, loaded.places);
  const logger = createLogger('error', redaction, process.stderr);
  const [mount] = passingMounts(loaded.config, { redaction, logger, env, version });
  if (mount === undefined) throw new Error('a server without a mount');
  try {
    const { tools } = parseJson(await toolListOf(mount), ANSWER_LIMITS) as { readonly tools: readonly unknown[] };
    const listed = tools.flatMap((tool) => listedTool(tool) ?? []);
    const suggested = suggestRoles(listed);
    const head = headOf(redaction.text(options.url), listed.length, suggested);
    return { exitCode: 0, stdout: suggestedYaml(suggested, head), stderr: '' };
  } catch (error) {
    const why = redaction.text(withEscapes(whyNot(error as Error)));
    const stderr = `mcp-adapter suggest: the server did not say which tools it has: ${why}\n`;
    return { exitCode: 3, stdout: '', stderr };
  } finally {
    await mount.upstream.close();
  }
}

const MAX_WORDS = 300;

/** With the server's own words, where it refused: it may want credentials, or another host name in the URL. */
function whyNot(error: Error): string {
  const words = error instanceof HandshakeFailed ? error.body.trim().slice(0, MAX_WORDS) : '';
  const advice = error instanceof HandshakeFailed && error.status === 401 ? '; give credentials with --header' : '';
  return `${error.message}${words === '' ? '' : ` (${words})`}${advice}`;
}

/** A configuration with the server alone; JSON is YAML. */
const fileFor = ({ url, headers }: Extract<SuggestOptions, { action: 'suggest' }>): string =>
  JSON.stringify({
    servers: [{ id: 'server', mount_path: '/server', upstream: { url, static_headers: headers } }],
  });

/** The fields of the configuration that the command line stands for. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/^servers\[0\]\.upstream\.url/, 'URL'],
  [/^servers\[0\]\.upstream\.static_headers\.?/, '--header '],
];

function wrongUse(error: SuggestUsageError | ConfigError): string {
  if (error instanceof SuggestUsageError) return `mcp-adapter suggest: ${error.message}\n`;
  return error.problems
    .map(({ path, message }) => {
      const said = PARTS.reduce((text, [pattern, part]) => text.replace(pattern, part), path);
      return `mcp-adapter suggest: ${said.trim()} ${message}\n`;
    })
    .join('');
}

function headOf(url: string, count: number, { suggestions }: SuggestedRoles): string[] {
  const withFiles = new Set(suggestions.map(({ tool }) => tool)).size;
  const unsure = suggestions.filter((one) => one.unsure !== undefined).length;
  return [
    `Suggested from the tools of ${url}: ${count}, of which ${withFiles} have files.`,
    unsure === 0 ? 'Read it before you use it.' : `Read it before you use it; look for "unsure:" (${unsure}).`,
  ];
}
