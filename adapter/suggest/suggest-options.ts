import { parseArgs } from 'node:util';

/** What `mcp-adapter suggest` was asked for. */
export type SuggestOptions =
  | { readonly action: 'help' }
  | { readonly action: 'suggest'; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export const SUGGEST_USAGE = `Usage: mcp-adapter suggest URL [options]

Asks the MCP server at URL (Streamable HTTP) for its tools, and prints what could stand in "adapters" of its entry in
the configuration file: which arguments are files, and whether the tools read, write or change them. The rules go by
names, descriptions and annotations of the tools. Read the result before you use it: what it is unsure of has a comment
that starts with "unsure:". Nothing is called, and nothing but the server is asked.

Options:
  --header 'NAME: VALUE'  sent with every request, for credentials; may be given several times. \${NAME} and
                          \${NAME:-default} in it are taken from the environment, so that they need not stand here
  --help                  print this text and exit

Exit codes: 0 printed; 2 wrong use; 3 the server did not say which tools it has
`;

/** The command line was wrong; the message says how. */
export class SuggestUsageError extends Error {
  override readonly name = 'SuggestUsageError';
}

/** @param args what stands behind `suggest` */
export function readSuggestOptions(args: readonly string[]): SuggestOptions {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { header: { type: 'string', multiple: true }, help: { type: 'boolean', short: 'h' } },
    });
  } catch (error) {
    throw new SuggestUsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { action: 'help' };
  const [url, ...more] = positionals;
  if (url === undefined) throw new SuggestUsageError('the URL of a server is missing');
  if (more.length > 0) throw new SuggestUsageError(`one URL is wanted, not also "${more.join(' ')}"`);
  return { action: 'suggest', url, headers: Object.fromEntries((values.header ?? []).map(headerOf)) };
}

function headerOf(text: string): [string, string] {
  const colon = text.indexOf(':');
  if (colon < 1) throw new SuggestUsageError("--header is written as 'NAME: VALUE'");
  return [text.slice(0, colon).trim(), text.slice(colon + 1).trim()];
}
