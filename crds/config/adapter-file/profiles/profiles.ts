import { FileTools } from '../entry.ts';
import { chromeDevtools } from './chrome-devtools.ts';
import { excel } from './excel.ts';
import { filesystem } from './filesystem.ts';
import { markitdown } from './markitdown.ts';
import { pdfReader } from './pdf-reader.ts';
import { playwright } from './playwright.ts';
import type { Profile } from './profile.ts';
import { word } from './word.ts';

export const PROFILE_NAMES = [
  'playwright',
  'excel',
  'word',
  'chrome-devtools',
  'markitdown',
  'filesystem',
  'pdf-reader',
] as const;
export type ProfileName = (typeof PROFILE_NAMES)[number];

/** By the name that `servers[].profile` gives. */
export const PROFILES: Readonly<Record<ProfileName, Profile>> = {
  playwright,
  excel,
  word,
  'chrome-devtools': chromeDevtools,
  markitdown,
  filesystem,
  'pdf-reader': pdfReader,
};

/** Whether a profile takes files from a folder that the configuration has to name. */
export const needsFolder = (name: ProfileName): boolean =>
  PROFILES[name].entries.some(({ found = [] }) => found.length > 0);

/** Whether tools write files by a profile, and not only read them. */
export const writesFiles = (name: ProfileName): boolean =>
  profileEntries(name, '/').some(
    (entry) => entry.found.length > 0 || Object.values(entry.arguments).some(({ role }) => role !== 'in'),
  );

/**
 * The entries of a profile, with every default applied.
 * @param folder what the paths of files that are found are relative to; absolute
 */
export function profileEntries(name: ProfileName, folder: string | null): FileTools[] {
  return PROFILES[name].entries.map(({ found = [], ...entry }) =>
    FileTools.parse({ type: 'files', ...entry, found: found.map((one) => ({ ...one, relative_to: folder })) }),
  );
}
