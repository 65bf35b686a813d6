import { describe, expect, test } from 'vitest';

import { DRIFT_KEY, type LockedList, lockedList, type LockRules } from './locked-list.ts';
import { makeLock } from './make-lock.ts';

const definitions = (tools: readonly object[]): string[] => tools.map((tool) => JSON.stringify(tool));
const TOOLS = [{ name: 'a', description: 'A' }, { name: 'b', description: 'B' }, { name: 'c' }];
const { lock: server } = makeLock({
  tools: definitions(TOOLS),
  prompts: [],
  resourceTemplates: [],
  instructions: undefined,
});

function locked(tools: readonly object[], rules: Partial<LockRules> = {}): LockedList {
  const steps = lockedList('tools', JSON.stringify(tools), {
    key: '1',
    mode: 'enforce',
    newTools: 'hide',
    server,
    ...rules,
  });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

const CHANGED = [TOOLS[0]!, { name: 'b', description: 'B!' }, { name: 'new' }];

describe('a lock that is enforced', () => {
  test('leaves a list that is the same byte for byte', () => {
    const list = '[ {"description":"A", "name":"a"},\n{"name":"b","description":"B"} , {"name":"c"}]';
    const steps = lockedList('tools', list, { key: '1', mode: 'enforce', newTools: 'hide', server });
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect(step.value.list).toBe(list);
  });

  test('leaves out what differs and what is new; what is gone is unknown', () => {
    const list = locked(CHANGED);
    expect(JSON.parse(list.list)).toEqual([TOOLS[0]]);
    expect(list.refusal('a')).toBeUndefined();
    expect(list.refusal('b')).toEqual({ drifted: ['description'] });
    for (const name of ['c', 'new', 'never', '__proto__'])
      expect([name, list.refusal(name)]).toEqual([name, 'unknown']);
    expect(list.marked('b', '{}')).toBe('{}');
  });

  test.each([{ newTools: 'allow' as const }, { newTools: 'allow' as const, server: undefined }])(
    'lets new ones pass where it says so: %j',
    (rules) => {
      const list = locked(CHANGED, rules);
      expect(list.refusal('new')).toBeUndefined();
      expect(list.refusal('never')).toBeUndefined();
      expect(list.refusal('c')).toBe('server' in rules ? undefined : 'unknown');
    },
  );

  test('hides all of a server that it does not name', () => {
    expect(locked(TOOLS, { server: undefined }).list).toBe('[]');
  });

  test('says of the first page what it says of the whole, which begins with it', () => {
    const list = locked([...CHANGED, TOOLS[2]!, TOOLS[2]!]);
    const page = list.page(JSON.stringify(CHANGED, undefined, 1));
    expect(JSON.parse(page)).toEqual([TOOLS[0]]);
    expect(
      locked([TOOLS[0]!, CHANGED[1]!, TOOLS[2]!]).list.startsWith(
        locked([TOOLS[0]!, CHANGED[1]!, TOOLS[2]!])
          .page(JSON.stringify([TOOLS[0]]))
          .slice(0, -1),
      ),
    ).toBe(true);
    expect(list.refusal('c')).toEqual({ drifted: ['name'] });
  });
});

describe('a lock that audits', () => {
  const list = locked(CHANGED, { mode: 'audit' });

  test('refuses nothing', () => {
    expect(JSON.parse(list.list)).toEqual(CHANGED);
    for (const name of ['a', 'b', 'c', 'new']) expect(list.refusal(name)).toBeUndefined();
  });

  test.each([
    ['{"name":"b"}', { name: 'b', _meta: { [DRIFT_KEY]: ['description'] } }],
    ['{ "_meta" : {"own":1}, "name":"b"}', { name: 'b', _meta: { own: 1, [DRIFT_KEY]: ['description'] } }],
    ['{"name":"b","_meta":{}}', { name: 'b', _meta: { [DRIFT_KEY]: ['description'] } }],
    ['{"name":"b","_meta":5}', { name: 'b', _meta: 5 }],
    ['{}', { _meta: { [DRIFT_KEY]: ['description'] } }],
  ])('names the fields in %s', (definition, marked) => {
    expect(JSON.parse(list.marked('b', definition))).toEqual(marked);
    expect(list.marked('a', definition)).toBe(definition);
    expect(list.marked(undefined, definition)).toBe(definition);
  });
});
