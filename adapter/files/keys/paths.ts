import { sep } from 'node:path';

/** Ids of sessions and files: what we mint. Anything else that claims to be one never reaches a path or a key. */
const ID = /^[0-9a-f]{32}$/;

/** Files on their way: `.{filename}.{16 hexadecimal digits}.tmp`. No safe file name begins with a dot. */
export const TEMPORARY_NAME = /^\..+\.[0-9a-f]{16}\.tmp$/;

/** Leaves room in the 255 bytes of most file systems for the temporary name and for what an upstream appends. */
const LONGEST_NAME = 150;
/** A longer one is no extension that means anything, and is cut like the rest. */
const LONGEST_EXTENSION = 20;

/** Names of devices on Windows, whatever the extension: opening one there opens the device. */
const WINDOWS_DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(?=\.|$)/i;

export const isId = (text: string): boolean => ID.test(text);

/**
 * A client's or upstream's file name made safe as the name of a file in a folder, on every system: the last part of a
 * path, ASCII letters, digits, dots, dashes and underscores only, at most 150 bytes with the extension kept.
 * `fallback` stands in for a name of which nothing is left; it must be safe already.
 */
export function safeFilename(name: string | undefined, fallback: string): string {
  const parts = (name ?? '').split(/[/\\]/);
  const last = parts.findLast((part) => part !== '') ?? '';
  const safe = stripped(last.replaceAll(/[^A-Za-z0-9._-]/gu, '_'));
  if (safe === '') return fallback;
  return shortened(safe.replace(WINDOWS_DEVICE, '$1_'));
}

/** Whether a path lies below a folder. Both must be absolute and normalised; nothing is looked up. */
export const isInside = (path: string, folder: string): boolean =>
  path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`) && path !== folder;

/** Whether this is one component of a path: nothing that leads elsewhere. */
export const isComponent = (name: string): boolean =>
  name !== '' && name !== '.' && name !== '..' && !name.includes('/') && !name.includes(sep) && !name.includes('\0');

/** Without dots and underscores at its ends. A pattern for the end would look again from each of them in the middle of a long name. */
function stripped(name: string): string {
  const isStripped = (at: number): boolean => name[at] === '.' || name[at] === '_';
  let start = 0;
  let end = name.length;
  while (start < end && isStripped(start)) start++;
  while (end > start && isStripped(end - 1)) end--;
  return name.slice(start, end);
}

function shortened(name: string): string {
  if (name.length <= LONGEST_NAME) return name;
  const dot = name.lastIndexOf('.');
  const extension = dot > 0 && name.length - dot <= LONGEST_EXTENSION ? name.slice(dot) : '';
  return stripped(name.slice(0, LONGEST_NAME - extension.length)) + extension;
}
