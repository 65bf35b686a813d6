/** Found from the end: `/\/+$/` begins anew at each slash of a text that is all slashes, and so takes the square of its length. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}

/** The path without slashes at its beginning and its end. */
export const withoutOuterSlashes = (path: string): string => withoutEndSlashes(path).replace(/^\/+/, '');
