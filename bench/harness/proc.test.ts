import { describe, expect, test } from 'vitest';
import { busySeconds, divideCores, parseCoreList, processSeconds, residentKib, statusField } from './proc.ts';

describe('cores', () => {
  test('a list of ranges and single cores is read', () => {
    expect(parseCoreList('0-2,5\n')).toEqual([0, 1, 2, 5]);
    expect(parseCoreList('7')).toEqual([7]);
    expect(parseCoreList('')).toEqual([]);
  });

  test("the second core is the load's, all others are the targets'", () => {
    expect(divideCores([0, 1])).toEqual({ targets: [0], load: 1 });
    expect(divideCores([2, 4, 6, 8])).toEqual({ targets: [2, 6, 8], load: 4 });
  });

  test('on one core nothing is pinned', () => {
    expect(divideCores([0])).toEqual({ targets: [undefined], load: undefined });
  });
});

describe('what /proc tells', () => {
  test('a field of a status file is found by its whole name', () => {
    const text = 'Name:\tnode\nVmHWM:\t  81920 kB\nVmRSS:\t  40960 kB\n';
    expect(statusField(text, 'VmRSS')).toBe(40960);
    expect(statusField(text, 'VmHWM')).toBe(81920);
    expect(statusField(text, 'RSS')).toBeNaN();
  });

  test('busy time leaves out waiting and niced work', () => {
    // user nice system idle iowait irq softirq steal
    expect(busySeconds('cpu  100 900 200 800 700 10 20 600\ncpu0 1 1 1 1')).toBe(3.3);
  });

  test('the time of a process is found whatever its name', () => {
    // pid (name) state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
    expect(processSeconds('7 (a) b (c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 900 900 20 0')).toBe(2);
  });

  test('resident memory of a living process is more than nothing', () => {
    const { now, peak } = residentKib([process.pid]);
    expect(now).toBeGreaterThan(10_000);
    expect(peak).toBeGreaterThanOrEqual(now * 0.9);
  });
});
