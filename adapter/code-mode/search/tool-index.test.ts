import { describe, expect, test } from 'vitest';

import { finished } from '../testing/finished.ts';
import { sampleTools } from '../testing/sample-tools.ts';
import { ToolIndex } from './tool-index.ts';

const index = new ToolIndex(sampleTools);
const found = (query: string, among = index): string[] => (finished(among.search(query)) ?? []).map(({ name }) => name);
const tools = (...definitions: object[]): ToolIndex => new ToolIndex(definitions.map((one) => JSON.stringify(one)));

describe('of forty tools, the first that is found for', () => {
  test.each([
    // As models ask.
    ['navigate to url', 'browser_navigate'],
    ['open url', 'browser_navigate'],
    ['go back', 'browser_navigate_back'],
    ['click button', 'browser_click'],
    ['take a screenshot of the page', 'browser_take_screenshot'],
    ['screenshots', 'browser_take_screenshot'],
    ['run javascript in the page', 'browser_evaluate'],
    ['fill in a form', 'browser_fill_form'],
    ['filling forms', 'browser_fill_form'],
    ['close tab', 'browser_tabs'],
    ['read text of a file', 'read_text_file'],
    ['list directories', 'list_directory'],
    ['show the contents of a folder', 'list_directory'],
    ['rename a file', 'move_file'],
    ['remove file', 'delete_file'],
    ['deleting files', 'delete_file'],
    ['create issue', 'create_issue'],
    ['new ticket', 'create_issue'],
    ['list open issues', 'list_issues'],
    ['comment on an issue', 'add_issue_comment'],
    ['merging pull requests', 'merge_pull_request'],
    ['find code in repositories', 'search_code'],
    ['send an email', 'gmail-send'],
    ['send mail with attachments', 'gmail-send'],
    ['reply to a message', 'gmail-reply'],
    ['download mail attachment', 'gmail-download-attachment'],
    ['search emails', 'gmail-search'],
    ['create calendar event', 'calendarCreateEvent'],
    ['schedule a meeting with attendees', 'calendarCreateEvent'],
    ['free time slots', 'calendarFindFreeSlots'],
    ['upcoming calendar events', 'calendarListEvents'],
    ['cancel an event', 'calendarDeleteEvent'],
    ['sql query', 'db.query'],
    ['query the database', 'db.query'],
    ['list tables', 'db.listTables'],
    ['columns of a table', 'db.describeTable'],
    ['query plan', 'db.explain'],
    // Names in other spellings.
    ['read_text_file', 'read_text_file'],
    ['readTextFile', 'read_text_file'],
    ['listtables', 'db.listTables'],
    ['calendar_delete_event', 'calendarDeleteEvent'],
    ['use `db.execute` please', 'db.execute'],
    ['writefile', 'write_file'],
    ['search mail messages or db.query', 'db.query'],
    // Typing errors.
    ['screnshot', 'browser_take_screenshot'],
    ['naviagte', 'browser_navigate'],
    ['creat calender event', 'calendarCreateEvent'],
    // Beginnings of words.
    ['nav', 'browser_navigate'],
    ['attach', 'gmail-download-attachment'],
    // Parameters.
    ['fullPage', 'browser_take_screenshot'],
    ['merge_method squash', 'merge_pull_request'],
    ['assignees', 'create_issue'],
  ])('%s: %s', (query, name) => {
    expect(found(query)[0]).toBe(name);
  });

  test.each([
    ['issues', ['create_issue', 'get_issue', 'list_issues', 'update_issue', 'add_issue_comment']],
    ['event', ['calendarCreateEvent', 'calendarListEvents', 'calendarDeleteEvent', 'calendarUpdateEvent']],
    ['file', ['write_file', 'edit_file', 'move_file', 'delete_file', 'read_text_file', 'read_multiple_files']],
  ])('all that are about it come first: %s', (query, names) => {
    expect(new Set(found(query).slice(0, names.length))).toEqual(new Set(names));
  });
});

describe('a word counts most in the name, then in title, parameters and description', () => {
  const plain = { title: 'x x', description: 'x x', inputSchema: { properties: { x: { description: 'x x' } } } };
  const places = [
    { ...plain, name: 'e_e', inputSchema: { properties: { x: { description: 'x zebra' } } } },
    { ...plain, name: 'd_d', description: 'x zebra' },
    { ...plain, name: 'c_c', inputSchema: { properties: { zebra: { description: 'x x' } } } },
    { ...plain, name: 'b_b', title: 'x zebra' },
    { ...plain, name: 'a_zebra' },
  ];

  test('in whatever order the tools come', () => {
    expect(found('zebras', tools(...places))).toEqual(['a_zebra', 'b_b', 'c_c', 'd_d', 'e_e']);
    expect(found('zebras', tools(...places.toReversed()))).toEqual(['a_zebra', 'b_b', 'c_c', 'd_d', 'e_e']);
  });

  test('parameters of parameters and values are found too', () => {
    const inner = { type: 'array', items: { $ref: '#/$defs/Stripe' } };
    const schema = { properties: { q: inner }, $defs: { Stripe: { properties: { zebra: { enum: ['okapi'] } } } } };
    const one = tools({ name: 'a' }, { name: 'b', inputSchema: schema });
    expect([found('zebra', one), found('okapi', one)]).toEqual([['b'], ['b']]);
  });
});

test('tools that fit equally well keep the order of the upstream', () => {
  const names = ['m', 'a', 'z', 'k', 'b'];
  const same = tools(
    ...names.map((name) => ({ name: `${name}_thing`, description: 'Does a thing with other things' })),
  );
  expect(found('thing other', same)).toEqual(names.map((name) => `${name}_thing`));
});

test('a search with filling words only finds nothing in particular, and without words it says so', () => {
  expect(found('what can you do for me')).not.toContain('browser_close');
  expect(finished(index.search(''))).toBeUndefined();
  expect(finished(index.search(' …!? '))).toBeUndefined();
});

test('unrelated words find nothing', () => {
  expect(found('weather')).toEqual([]);
});

test('many tools that share only a common word with the best do not follow it, some do', () => {
  const others = Array.from({ length: 20 }, (_, i) => ({ name: `other_${i}`, description: `Asks zebras for ${i}` }));
  const names = found('feed the zebras', tools(...others, { name: 'feed_zebras', title: 'Feed the zebras' }));
  expect(names).toEqual(['feed_zebras', 'other_0', 'other_1', 'other_2', 'other_3']);
});

test('descriptions in scripts without blanks are found', () => {
  const other = tools({ name: 'a', description: '发送邮件' }, { name: 'b', description: '对当前页面截图并保存' });
  expect(found('页面截图', other)[0]).toBe('b');
});

test('names like one that does not exist', () => {
  expect(finished(index.nearest('browser_clik'))[0]).toBe('browser_click');
  expect(finished(index.nearest('mcp__web__browser_tabs'))[0]).toBe('browser_tabs');
  expect(finished(index.nearest('List_Issues'))[0]).toBe('list_issues');
  expect(finished(index.nearest('qqqqqq'))).toEqual([]);
  expect(finished(index.nearest(''))).toEqual([]);
});

test('only what has a name is a tool, and two of one name are two', () => {
  const odd = ['7', 'null', '[]', '{}', '{"name":7}', 'no JSON', '{"name":"a"}', '{"name":"a","description":"b"}'];
  const two = new ToolIndex(odd);
  expect(two.tools.map(({ text }) => text)).toEqual(odd.slice(-2));
  expect(two.named('a')).toHaveLength(2);
  expect(two.named('__proto__')).toEqual([]);
});

test('two hundred tools are indexed and searched in a moment', () => {
  const many = Array.from({ length: 5 }, () => sampleTools).flat();
  const start = performance.now();
  const large = new ToolIndex(many);
  finished(large.search('first'));
  const built = performance.now();
  for (let i = 0; i < 20; i++) finished(large.search('send an email with attachments to the people of a meeting'));
  expect(built - start).toBeLessThan(500);
  expect((performance.now() - built) / 20).toBeLessThan(50);
});

test('an index that is made in steps finds the same, and lets others go on', async () => {
  let pauses = 0;
  const made = await ToolIndex.of(sampleTools, undefined, () => Promise.resolve(pauses++));
  expect(pauses).toBe(1);
  const whole = ({ tools }: ToolIndex): object[] => tools.map((tool) => ({ ...tool, details: tool.details() }));
  expect(whole(made)).toEqual(whole(index));
  for (const query of ['file', 'send mail', 'screnshot']) expect(found(query, made)).toEqual(found(query));
});

test.each([
  ['a long word', 'x'.repeat(1_000_000)],
  ['many words', Array.from({ length: 100_000 }, (_, i) => `w${i}`).join(' ')],
  ['names of prototypes', '__proto__ constructor prototype toString hasOwnProperty'],
  ['patterns', '.*+?^${}()|[]\\'],
])('a query that is meant to hurt does not: %s', (_, query) => {
  const start = performance.now();
  finished(index.search(query));
  finished(index.nearest(query));
  expect(performance.now() - start).toBeLessThan(500);
});
