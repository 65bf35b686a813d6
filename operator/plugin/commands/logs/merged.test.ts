import { expect, test } from 'vitest';
import { lineText, logLine, merged } from './merged.ts';

const line = (pod: string, second: number, msg: string, request?: string) =>
  logLine(
    pod,
    JSON.stringify({ level: 'info', time: new Date(second * 1000).toISOString(), msg, request_id: request }),
  );

test('lines of one request stand together over all pods, at the time of the first', () => {
  const lines = [
    line('a', 1, 'begins', 'r1'),
    line('a', 3, 'other', 'r2'),
    logLine('a', 'no JSON, after other'),
    line('b', 2, 'between'),
    line('b', 4, 'ends', 'r1'),
  ];
  const shown = merged(lines).map(({ said, text }) => said?.['msg'] ?? text);
  expect(shown).toEqual(['begins', 'ends', 'between', 'other', 'no JSON, after other']);
});

test('a line is one line, whatever stands in it', () => {
  const hostile = logLine('a', JSON.stringify({ time: 't', level: 'info', msg: 'x\ny\u001B[2J', tool: 'z' }));
  expect(lineText(hostile, false)).toBe('t  a  info   x y\\u{1b}[2J  tool=z');
  expect(JSON.parse(lineText(hostile, true))).toMatchObject({ pod: 'a', tool: 'z' });
  expect(lineText(logLine('a', 'plain\u202E'), false)).toBe('a  plain\\u{202e}');
});
