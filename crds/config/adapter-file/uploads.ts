import { z } from 'zod';
import { bytes } from '../values/bytes.ts';
import { uriScheme } from '../values/network-values.ts';
import { flag, orNull, seconds } from '../values/values.ts';

/** Section `uploads` of the adapter's file. Source: adapter specification, section 2.6. */
export const Uploads = z.strictObject({
  enabled: flag()
    .describe('Accept uploads. When false, the endpoint answers 400 and tools that take uploads fail.')
    .prefault(true),
  max_file_bytes: bytes({ min: 1 })
    .describe('Largest file. An upload is stopped as soon as it passes this size.')
    .prefault('10Mi'),
  ttl_seconds: orNull(
    seconds().describe('How long a file is kept after its last use, in seconds. Null: as long as its session.'),
  ).prefault(120),
  page_url_ttl_seconds: seconds()
    .describe('(new) How long the URL of the upload page is valid, which a person opens, in seconds.')
    .prefault(900),
  require_sha256: flag()
    .describe('Require the form field `sha256` and refuse a file that does not match it.')
    .prefault(false),
  uri_scheme: uriScheme()
    .describe(
      'Start of upload handles, ending with `://`. They have the form `{uri_scheme}sessions/{session_id}/{upload_id}`.',
    )
    .prefault('upload://'),
});
export type Uploads = z.output<typeof Uploads>;
