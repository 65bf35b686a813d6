import { describe, expect, test } from 'vitest';

import { queryWordsOf, squashed, stem, termsOf } from './words.ts';

describe('names fall into their words', () => {
  test.each([
    ['browser_take_screenshot', ['browser', 'take', 'screenshot']],
    ['gmail-get-message', ['gmail', 'get', 'messag']],
    ['db.listTables', ['db', 'list', 'tabl']],
    ['getHTMLPage2', ['get', 'html', 'page2']],
    ['files/read', ['file', 'read']],
    ['__proto__', ['proto']],
    ['Créer-Élément', ['creer', 'element']],
    ['', []],
    ['…!?', []],
  ])('%s', (name, terms) => {
    expect(termsOf(name)).toEqual(terms);
  });

  test('in scripts without blanks into pairs of characters', () => {
    expect(termsOf('页面截图browser')).toEqual(['页面', '面截', '截图', 'browser']);
    expect(termsOf('図')).toEqual(['図']);
  });

  test('and who looks for GitHub means the whole word too', () => {
    expect(queryWordsOf('GitHub issues')).toEqual([
      { word: 'github', terms: ['git', 'hub', 'github'] },
      { word: 'issues', terms: ['issu'] },
    ]);
  });
});

describe('forms of a word agree', () => {
  test.each([
    ['file', 'files'],
    ['query', 'queries', 'querying', 'queried'],
    ['navigate', 'navigates', 'navigating', 'navigated', 'navigation'],
    ['create', 'creates', 'creating', 'created', 'creation'],
    ['delete', 'deletes', 'deleting', 'deleted', 'deletion'],
    ['search', 'searches', 'searching', 'searched'],
    ['address', 'addresses'],
    ['status', 'statuses'],
    ['database', 'databases'],
    ['case', 'cases'],
    ['size', 'sizes'],
    ['run', 'running'],
    ['save', 'saving', 'saved'],
    ['move', 'moves', 'moving', 'moved'],
    ['close', 'closes', 'closing', 'closed'],
    ['get', 'getting'],
    ['add', 'adding', 'added'],
    ['fill', 'filling', 'filled'],
    ['press', 'pressing', 'pressed'],
    ['copy', 'copies', 'copying', 'copied'],
    ['edit', 'edits', 'editing', 'edited'],
    ['insert', 'insertion'],
    ['id', 'ids'],
  ])('%s', (word, ...forms) => {
    expect(forms.map(stem)).toEqual(forms.map(() => stem(word)));
  });

  test('and short words stay apart', () => {
    const words = ['file', 'fill', 'date', 'data', 'note', 'not', 'string', 'need', 'action', 'user', 'use', 'page'];
    expect(new Set(words.map(stem)).size).toBe(words.length);
  });
});

test('names are compared by letters and digits alone', () => {
  expect(new Set(['read_text_file', 'readTextFile', 'Read text file!', 'READ-TEXT.FILE'].map(squashed)).size).toBe(1);
});

test.each([
  ['one word', 'a'.repeat(200_000)],
  ['capitals', 'A'.repeat(200_000)],
  ['changing case', 'aB'.repeat(100_000)],
  ['blanks', ' '.repeat(200_000)],
])('long texts take time in proportion: %s', (_, text) => {
  const start = performance.now();
  termsOf(text);
  queryWordsOf(text.slice(0, 1_000));
  expect(performance.now() - start).toBeLessThan(2_000);
});
