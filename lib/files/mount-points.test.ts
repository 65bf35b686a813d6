import { describe, expect, test } from 'vitest';
import { isMountPoint } from './mount-points.ts';

const MOUNTS = [
  '22 1 0:21 / / rw,relatime - overlay overlay rw',
  String.raw`36 22 8:1 /claims/a /data/shared\040files/state rw,noatime shared:1 - ext4 /dev/sda1 rw`,
].join('\n');

describe('T7: mounts of their own', () => {
  test('a path where something is mounted, with blanks in it', () => {
    expect(isMountPoint(MOUNTS, '/data/shared files/state')).toBe(true);
    expect(isMountPoint(MOUNTS, '/')).toBe(true);
  });

  test.each(['/data/shared files', '/data/shared files/state/x', '/claims/a', ''])('%j is none', (path) => {
    expect(isMountPoint(MOUNTS, path)).toBe(false);
  });

  test('a system that does not say knows none', () => {
    expect(isMountPoint('', '/data')).toBe(false);
  });
});
