/**
 * The pod that runs a source: the one with the highest weight for it (rendezvous hashing). All pods come to the same
 * answer without talking, and when one comes or goes, only its own sources move. Undefined when there are no pods.
 */
export function podOf(source: string, pods: readonly string[]): string | undefined {
  let best: string | undefined;
  let highest = -1;
  for (const pod of pods) {
    const weight = weightOf(`${pod}\n${source}`);
    if (best === undefined || weight > highest || (weight === highest && pod > best)) [best, highest] = [pod, weight];
  }
  return best;
}

/** FNV-1a, with the last mixing of MurmurHash 3, since names often differ in their last character only. */
function weightOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
