import { expect, test } from 'vitest';

import { EarlyControl } from './early-control.ts';

function started(before: (early: EarlyControl) => void): string[] {
  const said: string[] = [];
  const early = new EarlyControl();
  before(early);
  early.started({
    pause: () => said.push('pause'),
    resume: () => said.push('resume'),
    abort: () => said.push('abort'),
  });
  early.pause();
  early.resume();
  return said;
}

test('what was wanted before the start is done then, and the rest at once', () => {
  expect(started(() => undefined)).toEqual(['pause', 'resume']);
  expect(started((early) => early.pause())).toEqual(['pause', 'pause', 'resume']);
});

test('what was taken back before the start is not done', () => {
  const before = (early: EarlyControl): void => {
    early.pause();
    early.resume();
  };
  expect(started(before)).toEqual(['pause', 'resume']);
});

test('an exchange that was given up before it started is not paused but ended', () => {
  const before = (early: EarlyControl): void => {
    early.pause();
    early.abort();
  };
  expect(started(before)[0]).toBe('abort');
});
