import { ApiError, type Resource } from './kubernetes.ts';

/** Long enough for a sentence; the API server prints whole objects into some. */
const MAX_LENGTH = 1_000;

/**
 * Why the API server will not have an object as it is, as a sentence that names the object, or undefined when trying
 * again may help by itself (conflicts, outages, too many requests).
 */
export function refusalOf(error: unknown, resource: Resource, name: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (!REFUSALS.has(error.code) && !MALFORMED.test(error.message)) return undefined;
  const text = error.message.length > MAX_LENGTH ? `${error.message.slice(0, MAX_LENGTH)}…` : error.message;
  const advice = IMMUTABLE.test(error.message)
    ? '. This field cannot be changed on an object that exists: set it back, or delete the object to have it made anew'
    : '';
  return `${resource.kind} ${name} was refused by the API server: ${text}${advice}`;
}

/** Not 401 and 409, which pass. 403 is a missing permission, a quota or a policy; 404 a missing kind or namespace. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 405, 413, 415, 422]);
/** Unknown fields and lists with a key twice, which server-side apply answers with 500. */
const MALFORMED = /failed to create typed patch object/;
const IMMUTABLE = /immutable|may not be changed|may not change once set/;
