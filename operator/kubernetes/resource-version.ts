/**
 * Whether what a cache shows was there before what we got ourselves. Versions of one resource are numbers that grow
 * (guaranteed since Kubernetes 1.35, so before); where they are not, nothing counts as older.
 */
export function isOlder(seen: string | undefined, known: string | undefined): boolean {
  if (seen === undefined || known === undefined) return false;
  if (!NUMBER.test(seen) || !NUMBER.test(known)) return false;
  return BigInt(seen) < BigInt(known);
}

const NUMBER = /^\d{1,40}$/;
