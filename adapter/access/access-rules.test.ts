import { describe, expect, test } from 'vitest';

import { AccessConfig } from '../../crds/config/adapter-file/access.ts';
import { ANYBODY, claimedIdentity, type Identity, tokenIdentity } from '../identity/identity.ts';
import { AccessRules } from './access-rules.ts';
import { callOf, promptOf, readingOf, UPLOAD, type Wish } from './wishes.ts';

const rules = (config: unknown): AccessRules => new AccessRules(AccessConfig.parse(config));
const ci = tokenIdentity('ci', 'k');
const person = (claims: Record<string, unknown> = {}): Identity =>
  claimedIdentity('https://id', { sub: 'anna', scope: 'tools', ...claims });

function outcome(config: unknown, wish: Wish, identity = person()): string {
  const { outcome: what, rule, scope } = rules(config).of(identity).decide(wish);
  return [what, rule, scope].filter((one) => one !== undefined).join(' ');
}

describe('what decides', () => {
  const read = callOf('read');
  test.each([
    ['the default, allow', {}, read, 'allowed'],
    ['the default, deny', { default: 'deny' }, read, 'denied'],
    [
      'the first rule that matches',
      { rules: [{ effect: 'deny', tools: ['r*'] }, { effect: 'allow' }] },
      read,
      'denied 0',
    ],
    [
      'a later one, where an earlier does not match',
      {
        default: 'deny',
        rules: [
          { effect: 'deny', tools: ['x'] },
          { effect: 'allow', tools: ['read'] },
        ],
      },
      read,
      'allowed 1',
    ],
    ['no rule about prompts', { default: 'deny', rules: [{ effect: 'allow', prompts: ['*'] }] }, read, 'denied'],
    ['a method', { rules: [{ effect: 'deny', methods: ['tools/*'] }] }, read, 'denied 0'],
    ['a method and a tool', { rules: [{ effect: 'deny', methods: ['tools/*'], tools: ['x'] }] }, read, 'allowed'],
    ['a prompt', { rules: [{ effect: 'deny', prompts: ['a*'] }] }, promptOf('admin'), 'denied 0'],
    ['a resource', { rules: [{ effect: 'deny', resources: ['doc://a*'] }] }, readingOf('doc://a/1'), 'denied 0'],
    ['an upload', { rules: [{ effect: 'deny', methods: ['files/upload'] }] }, UPLOAD, 'denied 0'],
    ['nobody, for a method that is about nothing', { default: 'deny' }, { method: 'tools/list' }, 'allowed'],
    [
      'a rule that names it',
      { rules: [{ effect: 'deny', methods: ['tools/list'] }] },
      { method: 'tools/list' },
      'denied 0',
    ],
    ['the default, for a method nobody knows', { default: 'deny' }, { method: 'admin/reset' }, 'denied'],
  ] as const)('%s', (_name, config, wish, expected) => {
    expect(outcome(config, wish)).toBe(expected);
  });

  test.each([
    ['user:anna', 'allowed 0'],
    ['user:*', 'allowed 0'],
    ['user:ann', 'denied'],
    ['client:*', 'denied'],
    ['*', 'allowed 0'],
  ])('a principal, %s', (principal, expected) => {
    const config = { default: 'deny', rules: [{ effect: 'allow', principals: [principal] }] };
    expect(outcome(config, read)).toBe(expected);
  });

  test.each<[Record<string, string[]>, Record<string, unknown>, boolean]>([
    [{ groups: ['a'] }, { groups: ['b', 'a'] }, true],
    [{ groups: ['a'] }, { groups: 'a' }, true],
    [{ groups: ['a'] }, { groups: 'a b' }, false],
    [{ groups: ['a', 'c'] }, { groups: ['c'] }, true],
    [{ groups: ['a'] }, {}, false],
    [{ level: ['3'] }, { level: 3 }, true],
    [{ staff: ['true'] }, { staff: true }, true],
    [{ 'realm_access.roles': ['editor'] }, { realm_access: { roles: ['viewer', 'editor'] } }, true],
    [{ 'https://example.com/roles': ['editor'] }, { 'https://example.com/roles': ['editor'] }, true],
    [{ groups: ['a'], level: ['3'] }, { groups: ['a'] }, false],
    [{ 'constructor.name': ['Object'] }, {}, false],
    [{ groups: ['[object Object]'] }, { groups: [{}] }, false],
  ])('claims, %j of %j: %s', (wanted, claims, matches) => {
    const config = { default: 'deny', rules: [{ effect: 'allow', claims: wanted }] };
    expect(outcome(config, read, person(claims))).toBe(matches ? 'allowed 0' : 'denied');
  });
});

describe('a scope that is all that lacks', () => {
  const needs = { effect: 'allow', scopes: ['files', 'all'] };
  test.each([
    ['is said', [needs], 'scope 0 files'],
    ['is not asked for where a later rule allows it', [needs, { effect: 'allow' }], 'allowed 1'],
    ['is said though a later rule denies it', [needs, { effect: 'deny' }], 'scope 0 files'],
    ['is nothing where something else lacks too', [{ ...needs, tools: ['x'] }], 'denied'],
    ['denies nobody', [{ effect: 'deny', scopes: ['files'] }], 'denied'],
  ])('%s', (_name, list, expected) => {
    expect(outcome({ default: 'deny', rules: list }, callOf('read'))).toBe(expected);
  });

  test('is there, and any of them will do', () => {
    const config = { default: 'deny', rules: [needs] };
    expect(outcome(config, callOf('read'), person({ scope: 'all' }))).toBe('allowed 0');
  });

  test.each([
    ['a token of the configuration', ci],
    ['nobody in particular', ANYBODY],
  ])('is nothing that %s could get', (_name, identity) => {
    expect(outcome({ default: 'deny', rules: [needs] }, callOf('read'), identity)).toBe('denied');
  });

  test('shows that a tool is there', () => {
    const access = rules({ default: 'deny', rules: [{ ...needs, tools: ['read'] }] }).of(person());
    expect([access.shows(callOf('read')), access.shows(callOf('write'))]).toEqual([true, false]);
    expect(access.allows(callOf('read'))).toBe(false);
  });

  test('stands among those of the server', () => {
    const both = [needs, { effect: 'allow', scopes: ['all', 'more'] }, { effect: 'deny', scopes: ['none'] }];
    expect(rules({ rules: both }).scopes).toEqual(['files', 'all', 'more']);
  });
});

describe('a URI', () => {
  test.each([
    'file:///public/../secret',
    'file:///public/%2e%2e/secret',
    'file:///public\\..\\secret',
    'FILE:///public/a',
    'file:///public/..%2fsecret',
    'file:///public/%2e%2e/secret?%ff',
    'file:///public/a%3f/%2e%2e/%2e%2e/secret',
  ])('T24: that servers may read in another way is allowed only if all readings are: %s', (uri) => {
    const config = { default: 'deny', rules: [{ effect: 'allow', resources: ['file:///public/*'] }] };
    expect(outcome(config, readingOf(uri))).toBe('denied');
    expect(outcome(config, readingOf('file:///public/a'))).toBe('allowed 0');
  });

  test.each([
    'file:///secret',
    'file:////secret',
    'FILE:///secret',
    'file:///%73ecret',
    'file:///a/../secret',
    ' file:///secret',
    'file:///secre%74?%ff',
    'file:///a%3f/%2e%2e/secret',
    'file:///x%2fy/../secre%74',
    'file://localhost/secret',
    'file:/secret',
  ])('T24: is denied in whatever spelling: %s', (uri) => {
    expect(outcome({ rules: [{ effect: 'deny', resources: ['file:///secret*'] }] }, readingOf(uri))).toBe('denied 0');
  });

  test.each([
    ['doc://Secret/*', 'DOC://Secret/x'],
    ['doc://Secret/*', 'doc://%53ecret/x'],
    ['doc://Secret/*', 'Doc://secret/a/../x'],
    ['file:///my%20secret/*', 'file:///my secret/x'],
    ['file:///my%20secret/*', 'file:///m%79%20secret/x'],
    ['file:///a/../secret/*', 'file:///secret/x'],
  ])('T24: is denied however the rule is written: %s, %s', (pattern, uri) => {
    expect(outcome({ rules: [{ effect: 'deny', resources: [pattern] }] }, readingOf(uri))).toBe('denied 0');
  });

  test.each([
    ['doc://Public/*', 'doc://Public/x', 'allowed 0'],
    ['doc://Public/*', 'doc://public/x', 'denied'],
    ['file:///my%20docs/*', 'file:///my%20docs/a', 'allowed 0'],
    ['file:///my%20docs/*', 'file:///my docs/a', 'denied'],
    ['file:///my%20docs/*', 'file:///my%20docs/../secret', 'denied'],
    ['file:///my%20docs/*', 'file:///my%20docs/%2e%2e/secret', 'denied'],
    ['file:///x%2a/*', 'file:///x%2a/../xy/z', 'denied'],
  ])('T24: is allowed only as the rule is written: %s, %s: %s', (pattern, uri, expected) => {
    const config = { default: 'deny', rules: [{ effect: 'allow', resources: [pattern] }] };
    expect(outcome(config, readingOf(uri))).toBe(expected);
  });

  describe('T24: with more than its own name', () => {
    const deny = { effect: 'deny', resources: ['db://h/secret'] };
    test.each(['db://h/secret?', 'db://h/secret#x', 'db://h/secret/', 'db://anna@h/secret?a=b'])(
      'is denied as that is: %s',
      (uri) => {
        expect(outcome({ rules: [deny] }, readingOf(uri))).toBe('denied 0');
        expect(outcome({ rules: [deny, { effect: 'allow', resources: ['db://*'] }] }, readingOf(uri))).toBe('denied 0');
      },
    );

    test('is allowed where a rule before that one allows it', () => {
      const list = [{ effect: 'allow', resources: ['db://h/secret?version=*'] }, deny];
      expect(outcome({ rules: list }, readingOf('db://h/secret?version=1'))).toBe('allowed 0');
      expect(outcome({ rules: list }, readingOf('db://h/secret?v=1'))).toBe('denied 1');
    });

    test('is allowed as a rule names it that allows', () => {
      const config = {
        default: 'deny',
        rules: [{ effect: 'allow', resources: ['http://h:80/a?x=1#y', 'doc://{id}'] }],
      };
      expect(outcome(config, readingOf('http://h:80/a?x=1#y'))).toBe('allowed 0');
      expect(outcome(config, readingOf('http://h:80/a'))).toBe('denied');
      expect(outcome(config, readingOf('doc://{id}'))).toBe('allowed 0');
    });

    test('asks for the scope that its own name needs', () => {
      const list = [{ effect: 'allow', scopes: ['all'], resources: ['db://h/secret'] }, deny];
      expect(outcome({ rules: list }, readingOf('db://h/secret?'))).toBe('scope 0 all');
      expect(outcome({ rules: list }, readingOf('db://h/secret?'), person({ scope: 'all' }))).toBe('allowed');
    });
  });
});

describe('callers', () => {
  const shared = rules({
    rules: [
      { effect: 'deny', claims: { groups: ['a'] } },
      { effect: 'allow', scopes: ['files'] },
    ],
  });

  test('whom the same rules concern share what is worked out for them', () => {
    const [first, second] = [person({ sub: 'x' }), person({ sub: 'y' })];
    expect(shared.of(first)).toBe(shared.of(second));
    expect(shared.of(first)).toBe(shared.of(first));
  });

  test.each([
    ['of another group', person({ groups: ['a'] })],
    ['with another scope', person({ scope: 'files' })],
    ['without scopes', ci],
  ])('%s do not', (_name, other) => {
    expect(shared.of(other).key).not.toBe(shared.of(person()).key);
  });

  test('are told apart for a wish, whatever a name looks like', () => {
    const access = rules({ rules: [{ effect: 'deny', prompts: ['x'] }] }).of(ci);
    expect(access.decide(promptOf('x')).outcome).toBe('denied');
    expect(access.decide(callOf('x')).outcome).toBe('allowed');
    expect(access.decide({ method: 'tools/call\npx' }).outcome).toBe('allowed');
  });
});
