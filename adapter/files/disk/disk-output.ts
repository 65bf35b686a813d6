import { realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { DiskFile } from './disk-file.ts';
import type { OutputFences } from './output-candidates.ts';
import { FileRefused, type OpenedFile } from '../keys/file-key.ts';

/** Looked up each time: a configured root may be mounted later than we start. */
export async function outputFences(
  realRoot: string,
  options: { root: string; locatorRoots: readonly string[]; forbidden: readonly string[] },
): Promise<OutputFences> {
  const { root, locatorRoots, forbidden } = options;
  const roots = await Promise.all(
    locatorRoots.map(async (configured) => ({ configured: resolve(configured), real: await realFolder(configured) })),
  );
  return {
    root: realRoot,
    configuredRoot: resolve(root),
    roots: roots.flatMap(({ configured, real }) => (real === undefined ? [] : [{ configured, real }])),
    forbidden: (await Promise.all(forbidden.map(configuredAndReal))).flat(),
  };
}

/** Opens the first candidate that is there. Whatever is wrong with it is a reason to refuse it. */
export async function openFirst(candidates: readonly string[], anchored: boolean): Promise<OpenedFile> {
  let refused = new FileRefused('outside', 'the path is none that files of tools may have');
  for (const candidate of candidates) {
    try {
      return await DiskFile.open(candidate, anchored);
    } catch (error) {
      refused = asRefusal(error, candidate);
      if (refused.reason !== 'missing') break;
    }
  }
  throw refused;
}

function asRefusal(error: unknown, path: string): FileRefused {
  if (error instanceof FileRefused) return error;
  return new FileRefused('unreadable', `${path} cannot be read`, { cause: error });
}

async function configuredAndReal(path: string): Promise<string[]> {
  const folder = await realFolder(dirname(path));
  return folder === undefined ? [resolve(path)] : [resolve(path), join(folder, basename(path))];
}

async function realFolder(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}
