/** A line of the adapter's log (JSON) as people like to read it. Any other line stays as it is. */
export function readableLine(line: string): string {
  const entry = parse(line);
  if (entry === undefined) return line;
  const { time, level, msg, ...rest } = entry;
  const clock = typeof time === 'string' ? new Date(time).toLocaleTimeString('en-GB') : '        ';
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${display(value)}`);
  return [clock, word(level).padEnd(8), word(msg), ...fields].join(' ').trimEnd();
}

/** Undefined when the line is no JSON object. */
function parse(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function display(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}

const word = (value: unknown): string => (typeof value === 'string' ? value : '');
