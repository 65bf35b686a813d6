import { readFileSync } from 'node:fs';

/** Whether a real path is where something is mounted, by the text of /proc/self/mountinfo (proc(5)). */
export function isMountPoint(mountInfo: string, path: string): boolean {
  return mountInfo.split('\n').some((line) => unescaped(line.split(' ')[4] ?? '') === path);
}

/** The mounts that this process sees; '' on systems that do not say. */
export function ownMounts(): string {
  try {
    return readFileSync('/proc/self/mountinfo', 'utf8');
  } catch {
    return '';
  }
}

/** Blanks, tabs, line feeds and backslashes stand there in octal. */
const unescaped = (text: string): string =>
  text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
