import { describe, expect, test } from 'vitest';
import { adrIndex, type RecordFile } from './adr-index.ts';

const record = (number: string, status = 'accepted'): RecordFile => ({
  file: `${number}-one.md`,
  text: `# ${number}: One

- Date: 2026-11-27
- Status: ${status}

## Context

Why.

## Alternatives

What else.

## Decision

What.

## Consequence

So.
`,
});
const changed = ({ file, text }: RecordFile, from: string, to: string): RecordFile => ({
  file,
  text: text.replace(from, to),
});

test('records are listed with their dates and what took their place', () => {
  const page = adrIndex([record('0001', 'superseded by 0002'), record('0002')]);
  expect(page).toContain('| [0001](0001-one.md) | 2026-11-27 | One | superseded by [0002](0002-one.md) |\n');
  expect(page).toContain('| [0002](0002-one.md) | 2026-11-27 | One | accepted |\n');
});

describe('a record is refused', () => {
  const first = record('0001');
  test.each<[string, readonly RecordFile[], string]>([
    ['without a section', [changed(first, '## Alternatives\n\nWhat else.\n\n', '')], 'the sections are not Context, '],
    ['with an empty section', [changed(first, 'What else.\n', '')], '0001-one.md: the section Alternatives is empty'],
    ['without a date', [changed(first, '2026-11-27', 'soon')], 'there is no line "- Date: '],
    ['without a status', [record('0001', 'perhaps')], 'there is no line "- Status: '],
    [
      'with the number of another',
      [first, { ...first, file: '0001-two.md' }],
      '0001-two.md: the number should be 0002',
    ],
    ['after a number that was skipped', [first, record('0003')], '0003-one.md: the number should be 0002'],
    [
      'with another number in its title',
      [changed(first, '# 0001', '# 0002')],
      'the title does not begin with "# 0001: "',
    ],
    [
      'superseded by nothing',
      [record('0001', 'superseded by 0009')],
      'superseded by 0009, which is not another record',
    ],
    ['superseded by itself', [record('0001', 'superseded by 0001')], 'superseded by 0001, which is not another record'],
    ['with a name that is no number', [{ ...first, file: 'one.md' }], 'one.md: the name is not NNNN-title.md'],
  ])('%s', (_, files, problem) => {
    expect(() => adrIndex(files)).toThrow(problem);
  });
});
