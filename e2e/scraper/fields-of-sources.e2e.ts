import { afterAll, beforeAll, expect, test } from 'vitest';
import { ScraperConfig } from '../../crds/config/scraper-file/scraper.ts';
import { allFields } from '../../crds/config/testing/all-fields.ts';
import { inputSchema } from '../../crds/generate/json-schema.ts';
import { authFields, tlsFields } from './fields/credentials.ts';
import { Crowd } from './fields/crowd.ts';
import type { FieldCases, World } from './fields/field-case.ts';
import { paginationFields } from './fields/pagination.ts';
import { readingFields } from './fields/readings.ts';
import { recordFields } from './fields/records.ts';
import { requestFields } from './fields/requests.ts';

/** What matches no rule is information as well, so that these say what would be so anyway, as in the original. */
const NO_EFFECT = ['sources[].logStatusField.info.value', 'sources[].logStatusField.info.matchType'];

/** Every field of a source, each tried in two sources that differ in nothing else, all of them in one scraper. */
const casesIn = (world: World): FieldCases => ({
  ...requestFields(world),
  ...paginationFields(world),
  ...authFields(world),
  ...tlsFields(world),
  ...recordFields(),
  ...readingFields(),
});
const NOWHERE: World = {
  api: '',
  tlsApi: '',
  namedTlsApi: '',
  clientsTlsApi: '',
  ca: '',
  caFile: '',
  client: { cert: '', key: '', certFile: '', keyFile: '' },
  stranger: { cert: '', key: '', certFile: '', keyFile: '' },
};
const paths = Object.keys(casesIn(NOWHERE));

let crowd: Crowd;
beforeAll(async () => {
  crowd = await Crowd.start(casesIn);
  await crowd.settle(25_000);
});
afterAll(() => crowd?.[Symbol.asyncDispose]());

test.each(paths)('%s', (path) => {
  const shows = (isSecond: boolean): boolean => crowd.cases[path]?.shows(crowd.seen(path, isSecond)) === true;
  expect(shows(false), `it does not show: ${crowd.describe(path, false)}`).toBe(true);
  expect(shows(true), `it shows without it: ${crowd.describe(path, true)}`).toBe(false);
});

test('every field of a source has a test', () => {
  const all = allFields(inputSchema(ScraperConfig)).filter((path) => path.startsWith('sources[]'));
  expect([...paths, ...NO_EFFECT].toSorted()).toEqual(all.toSorted());
});
