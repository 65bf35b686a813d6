import { z } from 'zod';
import { isAbsolute } from './file-rules.ts';
import { PROFILE_NAMES } from './profiles/profiles.ts';
import { oneOf, trimmedAnd } from '../values/values.ts';

const ALLOWED = `one of ${PROFILE_NAMES.join(', ')}`;

const Written = z
  .strictObject(
    {
      name: oneOf(PROFILE_NAMES),
      folder: trimmedAnd('an absolute path without ..', isAbsolute).nullable().prefault(null),
    },
    {
      error: ({ code }) =>
        code === 'invalid_type' ? 'the name of a profile, or a mapping with name and folder' : undefined,
    },
  )
  .nullable();

/** A name is judged where it stands: the file has no key `name` that a message could point at. */
function nameAlone(value: unknown, context: z.core.$RefinementCtx): unknown {
  if (typeof value !== 'string') return value;
  const name = value.trim();
  if (PROFILE_NAMES.some((known) => known === name)) return { name };
  context.issues.push({ code: 'custom', message: ALLOWED, input: value });
  return z.NEVER;
}

/** `servers[].profile`: entries that the adapter brings along for a published server. */
export const ServerProfile = z
  .unknown()
  .transform(nameAlone)
  .pipe(Written)
  .prefault(null)
  .describe(
    `(new) Entries of type \`files\` for a published server, behind those of \`adapters\`: ${PROFILE_NAMES.map((name) => `\`${name}\``).join(', ')}. ` +
      'Or a mapping: `name`, and `folder`, the working folder of the server as the adapter sees it, which `playwright` needs. ' +
      'Null: none.',
  );
export type ServerProfile = z.output<typeof ServerProfile>;
