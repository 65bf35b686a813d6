import { describe, expect, test } from 'vitest';
import { readableLine } from './log-line.ts';

describe('a log line for people', () => {
  test('has the time, the level, the message and then the fields', () => {
    const line = '{"level":"info","time":"2026-11-21T14:49:43.113Z","server_id":"demo","ms":19.05,"msg":"request"}';
    expect(readableLine(line)).toMatch(/^\d\d:49:43 info {5}request server_id=demo ms=19.05$/);
  });

  test('quotes what would not be one word, and shows objects', () => {
    expect(readableLine('{"level":"warning","msg":"x","reason":"not now","err":{"code":"A"}}')).toMatch(
      / warning {2}x reason="not now" err=\{"code":"A"\}$/,
    );
  });

  test.for(['plain text', '{broken', ''])('leaves %j as it is', (line) => {
    expect(readableLine(line)).toBe(line);
  });
});
