import { z } from 'zod';
import { flag, integer } from '../values/values.ts';

/** Section `files` of the adapter's file: how files get into tools and out of them, for all servers. */
export const Files = z.strictObject({
  drafts: flag()
    .describe(
      'Say in the schemas of wrapped arguments which files they take (`x-mcp-file`), as the drafts SEP-2356 and SEP-2631 ' +
        'have it, which may change.',
    )
    .prefault(false),
  versions: integer({ min: 0, max: 100 })
    .describe(
      'Older versions of an edited file that are kept and can be downloaded (`?version=n`), beside the one that was uploaded. ' +
        'They count in the quotas. 0 keeps none.',
    )
    .prefault(5),
});
export type Files = z.output<typeof Files>;
