import { S3Client } from '@aws-sdk/client-s3';
import type { S3 } from '../../../crds/config/adapter-file/storage.ts';

const CONNECT_MS = 5_000;
/** How long nothing may move on a connection. */
const IDLE_MS = 30_000;

const quiet = (): void => {};
/** The SDK would write to the console otherwise, past our log. */
const QUIET = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet };

/**
 * A client of the server at `endpoint`; null: Amazon S3. Credentials come from where the SDK looks for them: variables,
 * files that these name, the platform.
 */
export function s3Client(settings: S3, endpoint: string | null): S3Client {
  return new S3Client({
    region: settings.region,
    forcePathStyle: settings.force_path_style ?? settings.endpoint !== null,
    ...(endpoint === null ? {} : { endpoint }),
    maxAttempts: 3,
    // Headers that older servers do not know; the bytes are protected by the hash that every request is signed with.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: IDLE_MS, logger: QUIET },
    logger: QUIET,
  });
}
