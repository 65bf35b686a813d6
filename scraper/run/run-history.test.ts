import { expect, test } from 'vitest';
import { RunHistory } from './run-history.ts';

const at = (second: number): Date => new Date(second * 1000);

test('the last runs are kept, newest first', () => {
  const runs = new RunHistory();
  expect([runs.last, runs.lastEnded, runs.all()]).toEqual([undefined, undefined, []]);
  for (let second = 0; second < 25; second += 1) runs.begin('schedule', at(second)).end('success', at(second));
  expect(runs.all().map(({ started }) => started)).toEqual(Array.from({ length: 20 }, (_, index) => at(24 - index)));
});

test('one that goes on has no result yet', () => {
  const runs = new RunHistory();
  const first = runs.begin('first', at(0));
  first.records = 3;
  first.end('success', at(1));
  const second = runs.begin('schedule', at(2));
  expect([runs.last, runs.lastEnded]).toEqual([second, first]);
  expect(second).toMatchObject({ status: 'running', ended: undefined, records: 0 });
  runs.remove(second);
  expect(runs.all()).toEqual([first]);
});

test('of many errors the last are kept', () => {
  const run = new RunHistory().begin('schedule', at(0));
  for (let error = 0; error < 9; error += 1) run.note(`${error}`);
  expect(run.errors).toEqual(['4', '5', '6', '7', '8']);
});
