import { hostileCharacters } from './hostile-characters.ts';
import { hostileProse } from './hostile-prose.ts';
import { hostileShapes } from './hostile-shapes.ts';
import { hostileSizes } from './hostile-sizes.ts';

/** Definitions (JSON texts) as an upstream might send them that means ill or is broken, by what they try. */
export const hostileTools: ReadonlyMap<string, string> = new Map(
  [hostileCharacters, hostileProse, hostileShapes, hostileSizes].flatMap((tools) => Object.entries(tools)),
);
