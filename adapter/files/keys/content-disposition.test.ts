import { describe, expect, test } from 'vitest';
import { contentDisposition } from './content-disposition.ts';

describe('a file is saved under its name', () => {
  test.each([
    ['report.pdf', 'attachment; filename="report.pdf"'],
    ['my report (1).pdf', 'attachment; filename="my report (1).pdf"'],
    ['größe.txt', `attachment; filename="gr__e.txt"; filename*=UTF-8''gr%C3%B6%C3%9Fe.txt`],
    ['a"b\\c.txt', `attachment; filename="a_b_c.txt"; filename*=UTF-8''a%22b%5Cc.txt`],
    ["50%'(*).txt", `attachment; filename="50_'(*).txt"; filename*=UTF-8''50%25%27%28%2A%29.txt`],
    ['a\r\nX-B: c', `attachment; filename="a__X-B: c"; filename*=UTF-8''a%0D%0AX-B%3A%20c`],
    ['\u{1F418}', `attachment; filename="__"; filename*=UTF-8''%F0%9F%90%98`],
    ['\uD800', `attachment; filename="_"; filename*=UTF-8''%EF%BF%BD`],
  ])('%j', (name, header) => {
    expect(contentDisposition('attachment', name)).toBe(header);
  });

  test('or shown', () => {
    expect(contentDisposition('inline', 'a.png')).toBe('inline; filename="a.png"');
  });
});
