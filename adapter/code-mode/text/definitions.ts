/** The tools that stand for all others in code mode. */
export const CODE_TOOLS = ['search', 'get_schema', 'tags', 'list_tools', 'execute'] as const;
export type CodeTool = (typeof CODE_TOOLS)[number];

/** The detail of an answer, least first. */
export const DETAILS = ['brief', 'detailed', 'full'] as const;
export type Detail = (typeof DETAILS)[number];
/** Most tools that a search returns, and names and tags that are looked for at a time. */
export const MAX_RESULTS = 50;

/** What a model should know of the sandbox's limits. */
export interface CodeLimits {
  /** Of one run. */
  readonly calls: number;
  /** Milliseconds of one run, its calls included. */
  readonly totalMs: number;
  /** Bytes of what is returned and printed. */
  readonly outputBytes: number;
}

export interface CodeToolDefinition {
  readonly tool: CodeTool;
  readonly name: string;
  /** JSON text. */
  readonly definition: string;
}

export function codeToolName(prefix: string, tool: CodeTool): string {
  return `${prefix}_${tool}`;
}

/**
 * What a model reads instead of the definitions of all tools: each word is paid for in every conversation, but it must be
 * enough to go from a wish to a call.
 */
export function codeToolDefinitions(prefix: string, limits: CodeLimits): readonly CodeToolDefinition[] {
  const named = (tool: CodeTool): string => codeToolName(prefix, tool);
  const define = (tool: CodeTool, definition: Definition): CodeToolDefinition => {
    const name = named(tool);
    const { description, properties, required, readOnly } = definition;
    const inputSchema = { type: 'object', properties, ...(required && { required }), additionalProperties: false };
    const annotations = readOnly ? { annotations: { readOnlyHint: true } } : {};
    return { tool, name, definition: JSON.stringify({ name, description, inputSchema, ...annotations }) };
  };
  return [
    define('search', {
      description:
        `Finds this server's tools by words (names, descriptions, parameters), best first. Start here, then read ` +
        `parameters with ${named('get_schema')} and call the tools with ${named('execute')}.`,
      properties: {
        query: { type: 'string', description: 'What you want to do, e.g. "send mail attachment"' },
        tags: { ...NAMES, description: `Only tools with one of these tags (${named('tags')})` },
        detail: detail(DETAILS, 'brief', 'brief: a line each; detailed: with parameters; full: JSON definitions'),
        limit: { type: 'integer', minimum: 1, maximum: MAX_RESULTS },
      },
      required: ['query'],
      readOnly: true,
    }),
    define('get_schema', {
      description: 'Parameters and results of tools. Read it before you call a tool for the first time.',
      properties: { tools: { ...NAMES, description: 'Exact names' }, detail: detail(DETAILS, 'detailed') },
      required: ['tools'],
      readOnly: true,
    }),
    define('tags', {
      description: `Tags of this server's tools with counts; full: with the tools of each.`,
      properties: { detail: detail(['brief', 'full'], 'brief') },
      readOnly: true,
    }),
    define('list_tools', {
      description: `Lists all tools of this server. May be long: prefer ${named('search')}.`,
      properties: { detail: detail(DETAILS, 'brief') },
      readOnly: true,
    }),
    define('execute', {
      description: executeDescription(named, limits),
      properties: { code: { type: 'string', description: 'JavaScript: body of an async function' } },
      required: ['code'],
      readOnly: false,
    }),
  ];
}

interface Definition {
  readonly description: string;
  readonly properties: Record<string, object>;
  readonly required?: readonly string[];
  readonly readOnly: boolean;
}

const NAMES = { type: 'array', items: { type: 'string' }, maxItems: MAX_RESULTS };

function detail(values: readonly string[], byDefault: string, description?: string): object {
  return { type: 'string', enum: values, default: byDefault, ...(description !== undefined && { description }) };
}

function executeDescription(named: (tool: CodeTool) => string, { calls, totalMs, outputBytes }: CodeLimits): string {
  return `Runs JavaScript that calls this server's tools. Every call goes through here, also a single one; chain and filter in code, and return only what you need.
\`code\` is the body of an async function: use \`await\`, and \`return\` a JSON value. In scope: \`call_tool(name, args)\` and console.log (its output is returned too). No network, files, timers or imports. Names come from ${named('search')}, arguments from ${named('get_schema')}.
call_tool gives { text, structuredContent, content, artifacts, _meta }: text is all text blocks joined, structuredContent the tool's JSON or undefined, artifacts metadata of files it made. A tool that fails throws an Error with its message, and with code and data where it gives them.
At most ${calls} calls, ${amount(totalMs / 1_000)} s, ${amount(outputBytes / 1_024)} KiB of output. Example:
const found = await call_tool("list_issues", { state: "open" });
const issues = found.structuredContent?.issues ?? JSON.parse(found.text);
const all = await Promise.all(issues.slice(0, 3).map((i) => call_tool("get_issue", { id: i.id })));
return all.map((r) => r.text);`;
}

function amount(value: number): string {
  return String(Math.round(value * 10) / 10);
}
