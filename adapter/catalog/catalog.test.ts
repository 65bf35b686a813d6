import { describe, expect, test } from 'vitest';

import { type Span, splice } from '../exchange/scanning/json-scan.ts';
import { pinOf } from './baseline.ts';
import { type Catalog, catalog, type CleanTool, listedOwn, ownToolsOnly } from './catalog.ts';
import { disabledTools } from './disabled-tools.ts';
import { prepareTool } from './prepared-tool.ts';
import { joinedPages, listIn, shownList, type ToolView, toolView } from './tool-view.ts';

function viewOf(result: string, of: Catalog): { list: Span; view: ToolView } | undefined {
  const list = listIn(result);
  if (list === undefined) return undefined;
  const steps = toolView(result.slice(list.start, list.end), (definition) => prepareTool(definition, of, true));
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { list, view: step.value };
  }
}

function visibleTools(result: string, of: Catalog, isFirstPage: boolean, shown?: (string | undefined)[]): string {
  const viewed = viewOf(result, of);
  if (viewed === undefined) return result;
  const { list, view } = viewed;
  const definitions = shown ?? view.tools.map((one) => one.shown);
  return splice(result, [
    { ...list, with: shownList(view, definitions, isFirstPage ? listedOwn(of) : [], of.instead !== undefined) },
  ]);
}

const none = catalog({ disabled: disabledTools([]) });
const hidden = catalog({ disabled: disabledTools(['b', 'x.*']) });
const tool = (name: string): string => `{"description":"n: ${name}", "name" : "${name}","big":12345678901234567890}`;

describe('the tools that a client sees', () => {
  test('are all but the disabled ones, byte for byte', () => {
    const result = `{ "_meta":{"tools":[{"name":"b"}]}, "tools" : [ ${tool('a')} ,${tool('b')},\n${tool('c')} , ${tool('xyz')}], "nextCursor":"2"}`;
    expect(visibleTools(result, hidden, true)).toBe(
      `{ "_meta":{"tools":[{"name":"b"}]}, "tools" : [${tool('a')},${tool('c')}], "nextCursor":"2"}`,
    );
    expect(visibleTools(result, none, true)).toBe(result);
  });

  test.each([
    `{"tools":[ ${tool('a')} , ${tool('c')} ]}`,
    '{"tools":[]}',
    '{"tools":{}}',
    '{"tools":null}',
    '{}',
    '[]',
    'null',
  ])('are unchanged in %s', (result) => {
    expect(visibleTools(result, hidden, true)).toBe(result);
  });

  test('are objects with a name: nothing else of a list is one', () => {
    const odd = '{"tools":[null,{"name":7},1,"b",[{"name":"a"}], true,{},{"title":"c"},{"name":"a"}]}';
    expect(visibleTools(odd, hidden, true)).toBe('{"tools":[{"name":"a"}]}');
  });

  test('may be none', () => {
    expect(visibleTools(`{"tools":[${tool('b')}]}`, hidden, true)).toBe('{"tools":[]}');
  });

  test('are told by what their names mean, and by the last of several', () => {
    expect(visibleTools(String.raw`{"tools":[{"name":"\u0062"},{"\u006eame":"b"}]}`, hidden, true)).toBe(
      '{"tools":[]}',
    );
    expect(visibleTools('{"tools":[{"name":"a","name":"b"},{"name":"b","name":"a"}]}', hidden, true)).toBe(
      '{"tools":[{"name":"b","name":"a"}]}',
    );
  });
});

describe('tools of the adapter', () => {
  const helper = { name: 'help', definition: '{"name":"help"}' };
  const added = catalog({ disabled: disabledTools(['b']), own: [helper] });

  test('stand at the end of the first page', () => {
    const result = `{ "tools" : [ ${tool('a')} ] , "nextCursor":"2"}`;
    expect(visibleTools(result, added, true)).toBe(`{ "tools" : [ ${tool('a')} ,{"name":"help"}] , "nextCursor":"2"}`);
    expect(visibleTools(result, added, false)).toBe(result);
    expect(visibleTools('{"tools":[]}', added, true)).toBe('{"tools":[{"name":"help"}]}');
    expect(visibleTools(`{"tools":[${tool('b')}]}`, added, true)).toBe('{"tools":[{"name":"help"}]}');
    expect(ownToolsOnly(listedOwn(added))).toBe('{"tools":[{"name":"help"}]}');
  });

  test('hide those of the same name', () => {
    const result = `{"tools":[${tool('help')},${tool('a')}]}`;
    expect(visibleTools(result, added, true)).toBe(`{"tools":[${tool('a')},{"name":"help"}]}`);
    expect(visibleTools(result, added, false)).toBe(`{"tools":[${tool('a')}]}`);
  });
});

describe('a tool that is shown in another way', () => {
  const shown = catalog({
    disabled: disabledTools(['b']),
    transforms: new Map([
      ['a', (text: string) => text.replace('n: a', 'changed')],
      ['b', () => 'never'],
    ]),
  });

  test('is so on every page, and the others stay as they are', () => {
    const [a, c] = [tool('a'), tool('c')];
    const changed = a.replace('n: a', 'changed');
    expect(visibleTools(`{"tools":[ ${c} , ${a} , ${c} ]}`, shown, true)).toBe(
      `{"tools":[ ${c} , ${changed} , ${c} ]}`,
    );
    expect(visibleTools(`{"tools":[${a}]}`, shown, false)).toBe(`{"tools":[${changed}]}`);
    expect(visibleTools(`{"tools":[${a},${tool('b')}]}`, shown, true)).toBe(`{"tools":[${changed}]}`);
  });
});

test('tools that are hidden for what they say are named', () => {
  const clean: CleanTool = (text) => {
    return { text: text.includes('evil') ? undefined : text.replace('n: a', 'clean'), modified: [] };
  };
  const cleaned = catalog({ disabled: disabledTools([]), clean, transforms: new Map([['a', (text) => `${text} `]]) });
  const view = viewOf(`{"tools":[${tool('a')},${tool('evil')}]}`, cleaned)?.view;
  expect([...(view?.blocked ?? [])]).toEqual(['evil']);
  const definition = tool('a').replace('n: a', 'clean');
  expect(view?.tools).toMatchObject([{ name: 'a', pin: pinOf(definition), shown: `${definition} ` }]);
});

test('a client may get fewer than there are, or others instead', () => {
  const result = `{"tools":[${tool('a')},${tool('b')}],"x":1}`;
  expect(visibleTools(result, none, true, [undefined, tool('b')])).toBe(`{"tools":[${tool('b')}],"x":1}`);
  const instead = catalog({ disabled: disabledTools([]), instead: [{ name: 'find', definition: '{"name":"find"}' }] });
  expect(visibleTools(result, instead, true)).toBe('{"tools":[{"name":"find"}],"x":1}');
  expect(visibleTools(result, instead, false)).toBe('{"tools":[],"x":1}');
  expect(ownToolsOnly(listedOwn(instead))).toBe('{"tools":[{"name":"find"}]}');
});

test.each([
  ['{"tools":[{"name":"a"}],"nextCursor":"2","x":1}', '{"tools":[{"name":"a"},{"name":"b"}],"x":1}'],
  ['{"nextCursor":"2", "tools":[]}', '{"tools":[{"name":"b"}]}'],
])('pages are joined: %s', (first, expected) => {
  expect(joinedPages(first, 'tools', ['{"name":"b"}'])).toBe(expected);
});
