import { globSync } from 'node:fs';
import { ROOT } from '../suite/command.ts';

/**
 * Folders with the Lua scripts of the programs, as paths from the project's folder. A module finds its scripts in `lua/` beside
 * itself, in the sources as in what is made from them.
 */
export const luaFolders = (): string[] => globSync('{adapter,scraper}/**/lua', { cwd: ROOT }).sort();
