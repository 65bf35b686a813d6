import type { z } from 'zod';
import type { FileTools } from '../entry.ts';

type Written = z.input<typeof FileTools>;
type Found = NonNullable<Written['found']>[number];

/** Entries of type `files` for one published server, written once for everybody who has it. */
export interface Profile {
  /** Package and version whose tools were read. */
  readonly reviewedWith: string;
  readonly entries: readonly ProfileEntry[];
}

/** An entry whose files are found in the folder of the profile. */
export interface ProfileEntry {
  readonly tools: readonly string[];
  readonly arguments?: NonNullable<Written['arguments']>;
  readonly found?: readonly Omit<Found, 'relative_to'>[];
}
