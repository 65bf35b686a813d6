import { posix } from 'node:path';

import type { StagingArea } from '../files/disk/staging-area.ts';
import { type FileKey, FileRefused, type OpenedFile } from '../files/keys/file-key.ts';
import { type EmbeddedOutput, embeddedOutput } from './embedded-output.ts';
import { type LocateOutput, pathsIn, type ToolResult } from './locate-output.ts';

/** The file that a tool has produced. */
export type FoundOutput =
  /** In the folder that was given to it. `filename`: as it is called there. */
  | { readonly kind: 'own'; readonly file: OpenedFile; readonly filename: string }
  /** Elsewhere. */
  | { readonly kind: 'elsewhere'; readonly file: OpenedFile }
  | { readonly kind: 'embedded'; readonly output: EmbeddedOutput };

/** A text that the adapter itself makes a file of. */
export interface TextOutput {
  readonly kind: 'text';
  readonly name: string;
  readonly mimeType: string;
  /** In UTF-8. */
  readonly bytes: number;
  /** No piece ends within a surrogate pair. */
  readonly pieces: () => Iterable<string> | AsyncIterable<string>;
}

export interface OutputSearch {
  readonly stage: Pick<StagingArea, 'open' | 'openOutput' | 'filesIn' | 'pathOf'>;
  readonly locate: LocateOutput;
  readonly mode: 'structured' | 'regex' | 'embedded' | 'none';
}

/**
 * Finds what a tool has written (specification 2.8). Where it was given a place: there; as `output_locator` says; at any
 * path in the structured content; in the result itself; beside the place. Where it was not: as `output_locator` says.
 * Mode `none` looks only where the tool was told to write. What may not be read is no file.
 */
export async function findOutput(
  search: OutputSearch,
  place: FileKey,
  wasGiven: boolean,
  result: ToolResult,
): Promise<FoundOutput | undefined> {
  const { stage, mode, locate } = search;
  const embedded = (): FoundOutput | undefined => {
    const output = embeddedOutput(result);
    return output === undefined ? undefined : { kind: 'embedded', output };
  };
  if (!wasGiven) return mode === 'embedded' ? embedded() : named(search, place, locate(result));

  const there = await unlessRefused(() => stage.open(place));
  if (there !== undefined) return { kind: 'own', file: there, filename: place.filename };
  if (mode !== 'none') {
    const elsewhere =
      (await named(search, place, locate(result))) ??
      (await named(search, place, pathsIn(result.structuredContent))) ??
      embedded();
    if (elsewhere !== undefined) return elsewhere;
  }
  return beside(search, place);
}

async function named(search: OutputSearch, place: FileKey, paths: readonly string[]): Promise<FoundOutput | undefined> {
  const folder = posix.dirname(search.stage.pathOf(place));
  for (const path of paths) {
    const file = await unlessRefused(() => search.stage.openOutput(path, place.sessionId, place.serverId));
    if (file === undefined) continue;
    return posix.dirname(file.path) === folder
      ? { kind: 'own', file, filename: posix.basename(file.path) }
      : { kind: 'elsewhere', file };
  }
  return undefined;
}

/** A tool may have chosen another extension, or another name. */
async function beside({ stage }: OutputSearch, place: FileKey): Promise<FoundOutput | undefined> {
  const stem = stemOf(place.filename);
  const names = await stage.filesIn(place);
  for (const filename of names.toSorted((a, b) => Number(stemOf(b) === stem) - Number(stemOf(a) === stem))) {
    const file = await unlessRefused(() => stage.open({ ...place, filename }));
    if (file !== undefined) return { kind: 'own', file, filename };
  }
  return undefined;
}

async function unlessRefused(open: () => Promise<OpenedFile>): Promise<OpenedFile | undefined> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof FileRefused) return undefined;
    throw error;
  }
}

const stemOf = (filename: string): string => filename.slice(0, filename.length - posix.extname(filename).length);
