import { describe, expect, test } from 'vitest';

import { HiddenUi, isUi, uiOf } from './ui-resources.ts';

describe('T11: the user interfaces of a tool', () => {
  test.each([
    ['in its place', '{"name":"a","_meta":{"ui":{"resourceUri":"ui://a/x"}}}', ['ui://a/x']],
    ['in the older one', '{"name":"a","_meta":{"ui/resourceUri":"ui://a/x"}}', ['ui://a/x']],
    ['in both', '{"_meta":{"ui/resourceUri":"ui://a/1","ui":{"resourceUri":"ui://a/2"}}}', ['ui://a/1', 'ui://a/2']],
    ['twice', '{"_meta":{"ui":{"resourceUri":"ui://a/1","resourceUri":"ui://a/2"}}}', ['ui://a/1', 'ui://a/2']],
    ['with escapes', '{"_\\u006deta":{"\\u0075i":{"resourceUri":"\\u0075i:\\/\\/a"}}}', ['ui://a']],
    ['not where it has none', '{"name":"a","ui":{"resourceUri":"ui://a"}}', []],
    ['not in other values', '{"_meta":{"ui":["ui://a"],"ui/resourceUri":7}}', []],
    ['not with other schemes', '{"_meta":{"ui":{"resourceUri":"https://a/x"}}}', []],
    ['not in what is no object', '"_meta"', []],
  ])('are found %s', (_where, tool, uris) => {
    expect(uiOf(tool)).toEqual(uris);
  });

  test.each([
    ['ui://a', true],
    ['UI://a', true],
    [' \tu\ni://a', true],
    ['uis://a', false],
    ['file:///ui://a', false],
    ['', false],
  ])('are told by their scheme: %j', (uri, is) => {
    expect(isUi(uri)).toBe(is);
  });

  test.each([
    'ui://Widget/a b/é',
    'UI://Widget/a b/é',
    'Ui://widget/a%20b/é',
    'ui://widget/a%20b/%C3%A9',
    'ui://w%69dget/%61%20b/%c3%a9',
    'ui://Widget/x/../a b/./é',
    'ui://Widget/x/%2e%2e/a b/é',
    'ui://Widget/a b/é#part',
    ' ui://Wid\nget/a b/é ',
  ])('are hidden in each spelling: %j', (uri) => {
    const hidden = new HiddenUi(['ui://Widget/a b/é'], ['ui://other/a']);
    expect(hidden.has(uri)).toBe(true);
    expect(new HiddenUi([uri], []).has('ui://Widget/a b/é')).toBe(true);
  });

  test.each([['ui://other/a'], ['ui://hidden/A'], ['ui://hidden/a/b'], ['ui://hidden/a?b'], ['https://hidden/a']])(
    'are not taken for others: %s',
    (uri) => {
      expect(new HiddenUi(['ui://hidden/a'], ['ui://other/a']).has(uri)).toBe(false);
    },
  );

  test('are visible as a visible tool names them, and in no other spelling', () => {
    const shared = new HiddenUi(['ui://a/x', 'ui://b/x'], ['UI://a/x', 'ui://b/x']);
    expect(['UI://a/x', 'ui://b/x', 'ui://a/x', 'ui://A/x'].map((uri) => shared.has(uri))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  test('without a path have an empty one, and may have a host that is none', () => {
    expect(new HiddenUi(['ui://a', 'ui://a b'], []).has('ui://a/')).toBe(true);
    expect(new HiddenUi(['ui://a b'], []).has('ui://a%20b/')).toBe(true);
  });
});
