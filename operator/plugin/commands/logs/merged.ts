/** Pure: lines of the logs of several pods, as one log. */
import { escapeLine } from '../../../../lib/redaction/escape-line.ts';
import { isObject } from '../../../../lib/json/json-object.ts';
import { visible } from '../../output/visible.ts';

export interface LogLine {
  readonly pod: string;
  /** As the program wrote it. */
  readonly text: string;
  /** Milliseconds since 1970; undefined where it says none. */
  readonly time: number | undefined;
  /** Id of the request that it is about. */
  readonly request: string | undefined;
  /** What it says; undefined where it is no JSON. */
  readonly said: Readonly<Record<string, unknown>> | undefined;
}

export function logLine(pod: string, text: string): LogLine {
  const said = objectIn(text);
  const { time, request_id: request, parent_request_id: parent } = said ?? {};
  const at = typeof time === 'string' ? Date.parse(time) : typeof time === 'number' ? time : Number.NaN;
  const id = parent ?? request;
  return {
    pod,
    text,
    time: Number.isNaN(at) ? undefined : at,
    request: typeof id === 'string' ? id : undefined,
    said,
  };
}

function objectIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** By time, where each request keeps its lines together, at the time of the first of them. */
export function merged(lines: readonly LogLine[]): LogLine[] {
  const latest = new Map<string, number>();
  const timed = lines.map((line) => {
    const time = line.time ?? latest.get(line.pod) ?? 0;
    latest.set(line.pod, time);
    return { line, time };
  });
  // Of one pod the lines stay as they came; those without a time stand behind the one before them.
  const sorted = timed.toSorted((a, b) => a.time - b.time).map(({ line }) => line);
  const groups = Map.groupBy(sorted, (line) => (line.request === undefined ? line : line.request));
  return [...groups.values()].flat();
}

/** Members that stand before the others. */
const HEAD = new Set(['time', 'level', 'msg']);

export function lineText({ pod, text, said }: LogLine, isJson: boolean): string {
  if (isJson) return escapeLine(JSON.stringify({ pod, ...(said ?? { msg: text }) }));
  if (said === undefined) return `${pod}  ${visible(text)}`;
  const more = Object.entries(said)
    .filter(([name]) => !HEAD.has(name))
    .map(([name, value]) => `${name}=${textOf(value)}`);
  const word = (name: string): string => (said[name] === undefined ? '' : textOf(said[name]));
  const parts = [word('time'), pod, word('level').padEnd(5), word('msg'), ...more];
  return visible(parts.filter((part) => part !== '').join('  '));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
