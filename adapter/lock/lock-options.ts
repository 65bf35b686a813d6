import { parseArgs } from 'node:util';

const ACTIONS = ['create', 'diff', 'approve'] as const;
const FORMATS = ['text', 'json', 'sarif'] as const;

/** What `mcp-adapter lock` was asked for. */
export type LockOptions = { readonly action: 'help' } | LockRequest;

export interface LockRequest {
  readonly action: (typeof ACTIONS)[number];
  /** Undefined: where the adapter itself looks for it. */
  readonly config: string | undefined;
  /** Undefined: `core.tool_lock.path`. */
  readonly lock: string | undefined;
  /** Ids of the servers to ask; none: all. */
  readonly servers: readonly string[];
  readonly format: (typeof FORMATS)[number];
  /** Undefined: the standard output. */
  readonly output: string | undefined;
  readonly force: boolean;
  readonly dryRun: boolean;
  /** Whose McpToolLock is wanted; undefined: a file for `core.tool_lock.path`. */
  readonly adapter: { readonly name: string; readonly namespace?: string } | undefined;
  /** What to approve; none: all that differs. */
  readonly names: readonly string[];
}

export const LOCK_USAGE = `Usage: mcp-adapter lock create [options]
       mcp-adapter lock diff [options]
       mcp-adapter lock approve [options] [NAME...]

Says what the tools, prompts, resource templates and instructions of the servers of a configuration file are, as a tool
lock, and what they have become since. The servers are asked as clients ask them, with the credentials of the file, for
up to 10 seconds each and eight at a time; no tool is called.

Commands:
  create             print a lock of all that the servers have now
  diff               print what differs from the lock, field by field
  approve [NAME...]  take what the servers have now into the lock: what these names stand for (NAME or SERVER/NAME;
                     "instructions" for these), or all that differs. The file is replaced at once, without its comments

Options:
  --config FILE      configuration file (else $MCP_ADAPTER_CONFIG, else as without "lock")
  --lock FILE        the lock, or a McpToolLock that holds it (else core.tool_lock.path of the configuration)
  --server ID        ask this server only; may be given several times
  -o, --format WORD  with diff: text, json or sarif (SARIF 2.1.0, for code scanning); default: text, with colours on a
                     terminal, where NO_COLOR is not set
  --output FILE      with create and diff: write there instead of to the standard output. create writes nothing where a
                     server does not answer
  --force            with create --output: replace a file that is there
  --adapter NAME     with create: print a McpToolLock for this McpAdapter (NAME or NAMESPACE/NAME)
  --dry-run          with approve: print the lock and leave the file as it is
  --help             print this text and exit

Exit codes: 0 nothing differs, or done; 1 something differs, or cannot be locked; 2 wrong use, or a file that cannot be
read or written; 3 a server did not say what it has, and nothing else differs
`;

/** The command line was wrong; the message says how. */
export class LockUsageError extends Error {
  override readonly name = 'LockUsageError';
}

/** @param args what stands behind `lock` */
export function readLockOptions(args: readonly string[]): LockOptions {
  let parsed;
  try {
    parsed = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        config: { type: 'string' },
        lock: { type: 'string' },
        server: { type: 'string', multiple: true },
        format: { type: 'string', short: 'o' },
        output: { type: 'string' },
        force: { type: 'boolean' },
        adapter: { type: 'string' },
        'dry-run': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new LockUsageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  if (values.help === true) return { action: 'help' };
  const [word, ...names] = positionals;
  const action = ACTIONS.find((one) => one === word);
  if (action === undefined) throw new LockUsageError(`one of ${ACTIONS.join(', ')} is wanted, not "${word ?? ''}"`);
  const format = FORMATS.find((one) => one === (values.format ?? 'text'));
  if (format === undefined) {
    throw new LockUsageError(`--format must be one of ${FORMATS.join(', ')}, not "${values.format}"`);
  }
  for (const [option, actions] of Object.entries(ONLY_WITH)) {
    if (values[option as keyof typeof ONLY_WITH] === undefined || actions.includes(action)) continue;
    throw new LockUsageError(`--${option} goes with ${actions.join(' and ')} only`);
  }
  if (names.length > 0 && action !== 'approve') {
    throw new LockUsageError(`${action} takes no names; --server ID asks one server only`);
  }
  return {
    action,
    config: values.config,
    lock: values.lock,
    servers: values.server ?? [],
    format,
    output: values.output,
    force: values.force ?? false,
    dryRun: values['dry-run'] ?? false,
    adapter: values.adapter === undefined ? undefined : adapterOf(values.adapter),
    names,
  };
}

const ONLY_WITH: Readonly<Record<'lock' | 'format' | 'output' | 'force' | 'adapter' | 'dry-run', readonly string[]>> = {
  lock: ['diff', 'approve'],
  format: ['diff'],
  output: ['create', 'diff'],
  force: ['create'],
  adapter: ['create'],
  'dry-run': ['approve'],
};

function adapterOf(text: string): { name: string; namespace?: string } {
  const parts = text.split('/');
  const name = parts.pop() ?? '';
  const [namespace] = parts;
  if (name === '' || namespace === '' || parts.length > 1) {
    throw new LockUsageError(`--adapter must be NAME or NAMESPACE/NAME, not "${text}"`);
  }
  return { name, ...(namespace === undefined ? {} : { namespace }) };
}
