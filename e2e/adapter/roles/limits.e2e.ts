import { afterAll, beforeAll, expect, test } from 'vitest';
import { readResource } from '../files/kit/artifacts.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { lying, sizeOf } from '../files/kit/folder.ts';
import { mounted } from '../kit/deployment.ts';
import { type Door, openSession } from '../kit/session.ts';
import { oneOf, problemsOf, ROLES, saidBy, textFile } from './kit/roles.ts';

const MAX_SIZE = 3_000_000;
let crew: Crew;
let turn = 0;
const next = () => crew.at((turn += 1));

beforeAll(async () => {
  crew = await startCrew({
    replicas: 3,
    config: { storage: { max_size: MAX_SIZE } },
    servers: (url) => [
      mounted('up', url, {
        adapters: [
          { type: 'files', tools: ['copy_text'], arguments: { source: { role: 'in', max_bytes: 10 } } },
          ...ROLES,
        ],
      }),
    ],
  });
});
afterAll(() => crew?.[Symbol.asyncDispose]());

const door = async (): Promise<Door> => (await openSession(next())).at(next());

test('fifty sessions change fifty files at once, and nothing is lost or left', async () => {
  const sessions = await Promise.all(Array.from({ length: 50 }, () => openSession(next())));
  const texts = await Promise.all(
    sessions.map(async (session, number) => {
      const uri = await textFile(session.at(next()), `${number}\n`);
      for (const line of ['a', 'b', 'c']) oneOf(await session.at(next()).tool('append_line', { path: uri, line }));
      return String(await readResource(session.at(next()), uri));
    }),
  );
  expect(texts).toEqual(sessions.map((_, number) => `${number}\na\nb\nc\n`));
  await Promise.all(sessions.map((session) => session.at(next()).end()));
  await expect.poll(() => lying(crew.root)).toEqual([]);
});

test('ten gigabytes in the place of a file are not kept, and what is on the disk stays within its quota', async () => {
  const at = await door();
  const uri = await textFile(at, 'small\n');
  const result = await at.tool('spoil', { path: uri, as: 'huge' });
  expect(problemsOf(result)).toMatchObject([{ code: 'storage_quota' }]);
  expect(result).toMatchObject({ result: { isError: true } });
  expect(String(await readResource(at, uri))).toBe('small\n');
  await expect.poll(async () => sizeOf(await lying(crew.root))).toBeLessThan(MAX_SIZE);
  expect(oneOf(await at.tool('append_line', { path: uri, line: 'on' })).version).toBe(2);
});

test('a full storage refuses the call before the tool hears of it', async () => {
  const at = await door();
  const { uri } = oneOf(await at.tool('write_file', { output_path: 'big.bin', size: 2_000_000 }));
  const refused = await at.tool('append_line', { path: uri, line: 'never' });
  expect(refused).toMatchObject({ result: { isError: true } });
  expect(saidBy(refused)).toContain('take up all');
  expect((await readResource(at, uri))?.length).toBe(2_000_000);
});

test('a file that is larger than its argument takes is refused', async () => {
  const at = await door();
  const source = await textFile(at, 'more than ten bytes\n');
  const refused = await at.tool('copy_text', { source, destination: 'x.txt', line: '' });
  expect([refused, saidBy(refused)]).toMatchObject([
    { result: { isError: true } },
    expect.stringContaining('at most 10'),
  ]);
});
