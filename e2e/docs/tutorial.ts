/** A command block of a page, and what stands around it. */
export interface Step {
  /** As it stands there. */
  readonly commands: string;
  /** The output that the page shows right after it. */
  readonly output: string | undefined;
  /** Files that the page has had written before it, by name. */
  readonly files: Readonly<Record<string, string>>;
}

const BLOCK = /^```(\w+)\n(.*?)^```$/gms;
const ANNOUNCED_FILE = /\bfile `([\w.-]+)`:\s*$/;

/** The steps of a tutorial: its blocks `sh`, the `text` behind them, and the YAML that is announced as a file. */
export function stepsOf(page: string): Step[] {
  const steps: { commands: string; output: string | undefined; files: Record<string, string> }[] = [];
  let files: Record<string, string> = {};
  let end = 0;
  for (const { 1: language, 2: body = '', index, 0: whole } of page.matchAll(BLOCK)) {
    const before = page.slice(end, index);
    end = index + whole.length;
    const last = steps.at(-1);
    const [, name] = ANNOUNCED_FILE.exec(before) ?? [];
    if (language === 'sh') {
      steps.push({ commands: body.trim(), output: undefined, files });
    } else if (language === 'text' && last !== undefined && before.trim() === '') {
      last.output = body.trim();
    } else if (language === 'yaml' && name !== undefined) {
      files = { ...files, [name]: body };
    }
  }
  return steps;
}
