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
  const advice = IMMUTABLE.test(error.message)
    ? '. This field cannot be changed on an object that exists: set it back, or delete the object to have it made anew'
    : '';
  return `${resource.kind} ${name} was refused by the API server: ${shortened(error)}${advice}`;
}

/** Why it could not be applied, as a sentence that names the object, when trying again may help. */
export function failureOf(error: ApiError, resource: Resource, name: string): string {
  return `${resource.kind} ${name} cannot be applied for now: ${shortened(error)}`;
}

const shortened = ({ message }: ApiError): string =>
  message.length > MAX_LENGTH ? `${message.slice(0, MAX_LENGTH)}…` : message;

/**
 * Whether the API server says that we may not do this at all. It says so of everything for a moment after it has started,
 * before it has read the roles, so this is only to be believed when it lasts.
 */
export function isDenied(error: unknown): boolean {
  return error instanceof ApiError && error.code === 403 && DENIED.test(error.message);
}

/** How long it has to last, in milliseconds. */
export const DENIED_FOR_MS = 10_000;

/** Of the authorizer; quotas and policies say other things. */
const DENIED = /\bcannot \w+ resource\b/;

/** Not 401 and 409, which pass. 403 is a missing permission, a quota or a policy; 404 a missing kind or namespace. */
const REFUSALS: ReadonlySet<number> = new Set([400, 403, 404, 405, 413, 415, 422]);
/** Unknown fields and lists with a key twice, which server-side apply answers with 500. */
const MALFORMED = /failed to create typed patch object/;
const IMMUTABLE = /immutable|may not be changed|may not change once set/;
