import { describe, expect, test } from 'vitest';
import { isComponent, isId, isInside, safeFilename, TEMPORARY_NAME } from './paths.ts';

describe('a safe file name', () => {
  test.each([
    ['report.pdf', 'report.pdf'],
    ['a b.txt', 'a_b.txt'],
    ['../../etc/passwd', 'passwd'],
    ['..\\..\\windows\\win.ini', 'win.ini'],
    ['C:\\temp\\x.txt', 'x.txt'],
    ['folder/', 'folder'],
    ['.bashrc', 'bashrc'],
    ['..hidden..', 'hidden'],
    ['__init__.py', 'init__.py'],
    ['x\0y.png', 'x_y.png'],
    ['a\nb.png', 'a_b.png'],
    ['größe 🐘.txt', 'gr__e__.txt'],
    // Right-to-left override: shown as "exe.txt" by a careless reader.
    ['txt.\u202Eexe', 'txt._exe'],
    // Full-width solidus and dots are no separators, and no letters either.
    ['\uFF0E\uFF0E\uFF0Fpasswd', 'passwd'],
    ['a:b*c?.txt', 'a_b_c_.txt'],
    ['-rf', '-rf'],
  ])('%j becomes %j', (name, safe) => {
    expect(safeFilename(name, 'upload')).toBe(safe);
  });

  test.each([undefined, '', '.', '..', '...', '/', '///', '\\', '___', '._.', '🐘', ' ', '../..'])(
    'nothing is left of %j, so the default takes its place',
    (name) => {
      expect(safeFilename(name, 'upload')).toBe('upload');
    },
  );

  test('a long name is cut to 150 bytes and keeps its extension', () => {
    const safe = safeFilename(`${'x'.repeat(300)}.tar.gz`, 'upload');
    // `.tar` is part of what is cut; an extension is what follows the last dot.
    expect(safe).toBe(`${'x'.repeat(147)}.gz`);
    expect(Buffer.byteLength(safe)).toBe(150);
  });

  test('a long "extension" is cut like the rest', () => {
    const safe = safeFilename(`a.${'x'.repeat(300)}`, 'upload');
    expect(safe).toBe(`a.${'x'.repeat(148)}`);
  });

  test('a cut never leaves dots or underscores before the extension', () => {
    expect(safeFilename(`${'x'.repeat(100)}${'_'.repeat(100)}.png`, 'upload')).toBe(`${'x'.repeat(100)}.png`);
  });

  test('a name of a megabyte takes no longer than its length', () => {
    const began = process.threadCpuUsage();
    expect(safeFilename(`a${'_'.repeat(1 << 20)}x.png`, 'upload')).toBe('a.png');
    expect(process.threadCpuUsage(began).user / 1_000).toBeLessThan(1_000);
  });

  test('a name of many bytes per letter stays within 150 bytes', () => {
    // 150 would end in an underscore.
    expect(Buffer.byteLength(safeFilename(`${'🐘a'.repeat(200)}.png`, 'upload'))).toBe(149);
  });

  test.each([
    ['con', 'con_'],
    ['NUL.txt', 'NUL_.txt'],
    ['aux.tar.gz', 'aux_.tar.gz'],
    ['LPT1', 'LPT1_'],
    ['con.', 'con_'],
    ['console.log', 'console.log'],
    ['com10.txt', 'com10.txt'],
  ])('a device of Windows is none any more: %j becomes %j', (name, safe) => {
    expect(safeFilename(name, 'upload')).toBe(safe);
  });

  test('no safe name looks like a file on its way', () => {
    const temporary = `.report.pdf.${'0'.repeat(16)}.tmp`;
    expect(TEMPORARY_NAME.test(temporary)).toBe(true);
    expect(safeFilename(temporary, 'upload')).toBe(temporary.slice(1));
    expect(TEMPORARY_NAME.test(safeFilename(temporary, 'upload'))).toBe(false);
  });

  test('making a name safe twice changes nothing', () => {
    for (const name of ['con', `${'x'.repeat(300)}.gz`, '..a..', 'größe.txt', `a.${'x'.repeat(200)}`]) {
      const once = safeFilename(name, 'upload');
      expect(safeFilename(once, 'upload')).toBe(once);
    }
  });
});

describe('ids', () => {
  test('32 lower-case hexadecimal digits and nothing else', () => {
    expect(isId('0123456789abcdef0123456789abcdef')).toBe(true);
    for (const text of [
      '',
      '..',
      '0123456789abcdef0123456789abcde',
      '0123456789ABCDEF0123456789ABCDEF',
      '0123456789abcdef0123456789abcdef\n',
      '0123456789abcdef0123456789abcdef/..',
      'g'.repeat(32),
    ]) {
      expect(isId(text)).toBe(false);
    }
  });
});

describe('layout', () => {
  test('inside means below, not beside and not the folder itself', () => {
    expect(isInside('/data/a', '/data')).toBe(true);
    expect(isInside('/data', '/data')).toBe(false);
    expect(isInside('/data2/a', '/data')).toBe(false);
    expect(isInside('/data/a', '/data/')).toBe(true);
    expect(isInside('/etc', '/')).toBe(true);
    expect(isInside('/', '/')).toBe(false);
  });

  test('a component leads nowhere else', () => {
    for (const name of ['a', 'ä', '...', '.tmp', 'a b']) expect(isComponent(name)).toBe(true);
    for (const name of ['', '.', '..', 'a/b', '/', 'a\0']) expect(isComponent(name)).toBe(false);
  });
});
