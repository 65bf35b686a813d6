import { FileRefused } from '../keys/file-key.ts';
import { BlobStoreFailed } from './blob-store.ts';

/** Error codes of S3 and of the SDK that say that this adapter may not do what it wants, whatever the HTTP status. */
const REFUSED = new Set([
  'AccessDenied',
  'AuthorizationHeaderMalformed',
  'CredentialsProviderError',
  'ExpiredToken',
  'InvalidAccessKeyId',
  'InvalidToken',
  'NoSuchBucket',
  'PermanentRedirect',
  'RequestTimeTooSkewed',
  'SignatureDoesNotMatch',
]);
const CHANGED = new Set(['BadDigest', 'XAmzContentSHA256Mismatch', 'IncompleteBody']);
/** With the names that the SDK gives to answers without a body. */
const MISSING = new Set(['NoSuchKey', 'NotFound', 'Unknown', 'UnknownError']);
/** The server can do this, but not now. */
const BUSY = new Set(['SlowDown', 'RequestTimeout', 'ThrottlingException']);

/**
 * What the SDK throws, as one of our errors. It is not kept as the cause: it carries the request, with its signature.
 * @param bucket where it happened, for people
 */
export function s3Failure(error: unknown, bucket: string): FileRefused | BlobStoreFailed {
  if (error instanceof FileRefused || error instanceof BlobStoreFailed) return error;
  const { name, code, status } = detailsOf(error);
  const what = [name, code, status === undefined ? undefined : `HTTP ${status}`].filter((part) => part !== undefined);
  const why = what.join(', ');
  if (CHANGED.has(name)) return new FileRefused('changed', `the file changed on its way to the bucket ${bucket}`);
  if (name === 'CredentialsProviderError') {
    const advice =
      'there are no credentials for it in the environment: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY';
    return new BlobStoreFailed('refused', `the bucket ${bucket} cannot be used: ${advice}`);
  }
  if (MISSING.has(name) && status === 404) {
    return new FileRefused('missing', `the bucket ${bucket} does not hold the file`);
  }
  // Servers have errors of their own for accounts and buckets that they do not know.
  const isUnknown = status === 404 && name !== 'NoSuchUpload';
  if (REFUSED.has(name) || status === 401 || status === 403 || isUnknown) {
    return new BlobStoreFailed('refused', `the bucket ${bucket} cannot be used: ${why}`);
  }
  if (status === undefined || (status >= 500 && status !== 501) || status === 429 || BUSY.has(name)) {
    return new BlobStoreFailed('unreachable', `the bucket ${bucket} cannot be reached: ${why}`);
  }
  return new BlobStoreFailed('failed', `the bucket ${bucket} did not do its work: ${why}`);
}

/** Whether a server does not know an operation that S3 has. */
export function isUnsupported(error: unknown): boolean {
  const { name, status } = detailsOf(error);
  return (
    ['NotImplemented', 'MethodNotAllowed', 'InvalidRequest', 'MissingContentMD5'].includes(name) ||
    status === 501 ||
    status === 405
  );
}

interface Details {
  readonly name: string;
  /** Of the operating system, such as ECONNREFUSED. */
  readonly code: string | undefined;
  /** Undefined when no answer came. */
  readonly status: number | undefined;
}

function detailsOf(error: unknown): Details {
  const { name, code, $metadata } = (error ?? {}) as { name?: unknown; code?: unknown; $metadata?: unknown };
  const status = ($metadata as { httpStatusCode?: unknown } | undefined)?.httpStatusCode;
  return {
    name: typeof name === 'string' ? name : 'Error',
    code: typeof code === 'string' ? code : undefined,
    status: typeof status === 'number' ? status : undefined,
  };
}
