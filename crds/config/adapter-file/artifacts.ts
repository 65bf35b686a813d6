import { z } from 'zod';
import { uriScheme } from '../values/network-values.ts';
import { flag, integer, oneOf, orNull, seconds } from '../values/values.ts';

/** Section `artifacts` of the adapter's file. Source: adapter specification, section 2.7. */
export const Artifacts = z.strictObject({
  enabled: flag().describe('Keep the files that tools produce. When false, results pass unchanged.').prefault(true),
  ttl_seconds: orNull(
    seconds().describe(
      'How long an artifact is kept after it was last read, in seconds. Null: as long as its session.',
    ),
  ).prefault(600),
  max_per_session: orNull(
    integer({ min: 1 }).describe(
      'Most artifacts of one session. One more fails; nothing is evicted for it. Null: no limit.',
    ),
  ).prefault(null),
  expose_as_resources: flag()
    .describe('Offer artifacts as MCP resources to the session that they belong to.')
    .prefault(true),
  scope: oneOf(['session', 'principal'])
    .describe(
      '(new) Who may read an artifact by its URI: the `session` that it was made in (without sessions: whoever has made it), ' +
        'or every session of the same `principal`, for which `core.auth.tokens` or `oauth` must tell callers apart.',
    )
    .prefault('session'),
  uri_scheme: uriScheme()
    .describe(
      'Start of artifact URIs, ending with `://`. They have the form `{uri_scheme}sessions/{session_id}/{artifact_id}/{filename}`.',
    )
    .prefault('artifact://'),
});
export type Artifacts = z.output<typeof Artifacts>;
