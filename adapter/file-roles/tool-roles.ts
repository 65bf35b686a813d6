import { LRUCache } from 'lru-cache';

import type { AdapterEntry, FileTools } from '../../crds/config/adapter-file/entry.ts';
import { argumentKeys, type FileArgument } from '../../crds/config/adapter-file/file-rules.ts';
import { glob } from '../access/glob.ts';
import { type FoundNames, foundNames } from './found-names.ts';

/** What an argument of a tool means. */
export interface RoleArgument extends FileArgument {
  /** As it is written in the file. */
  readonly name: string;
  /** Keys that lead to it through the arguments; lists on the way are looked through. */
  readonly keys: readonly string[];
}

/** What becomes of the files of one tool. */
export interface ToolRoles {
  readonly arguments: readonly RoleArgument[];
  readonly found: readonly FoundRule[];
}

/** Files that a tool names itself. */
export interface FoundRule {
  readonly names: FoundNames;
  readonly folder: string;
  readonly isMoved: boolean;
}

/** Clients make names up; those that no entry fits are not kept. */
const MAX_KNOWN = 2_000;

/**
 * The roles of each tool: of all entries of type `files` that fit its name, the first for each argument. Undefined where
 * there is no such entry.
 */
export function toolRoles(entries: readonly AdapterEntry[]): ((tool: string) => ToolRoles | undefined) | undefined {
  const compiled = entries.filter((entry) => entry.type === 'files').map(compiledEntry);
  if (compiled.length === 0) return undefined;
  const known = new LRUCache<string, ToolRoles>({ max: MAX_KNOWN });
  const together = new Map<string, ToolRoles>();
  return (tool) => {
    const cached = known.get(tool);
    if (cached !== undefined) return cached;
    const fitting = compiled.filter(({ fits }) => fits.some((fit) => fit(tool)));
    if (fitting.length === 0) return undefined;
    const key = fitting.map((entry) => compiled.indexOf(entry)).join();
    let roles = together.get(key);
    if (roles === undefined) together.set(key, (roles = merged(fitting)));
    known.set(tool, roles);
    return roles;
  };
}

interface CompiledEntry extends ToolRoles {
  readonly fits: readonly ((tool: string) => boolean)[];
}

function compiledEntry({ tools, arguments: roles, found }: FileTools): CompiledEntry {
  return {
    fits: tools.map(glob),
    arguments: Object.entries(roles).map(([name, role]) => ({ ...role, name, keys: argumentKeys(name) })),
    found: found.map((one) => ({ names: foundNames(one), folder: one.relative_to, isMoved: one.take === 'move' })),
  };
}

function merged(entries: readonly CompiledEntry[]): ToolRoles {
  const byPath = new Map<string, RoleArgument>();
  for (const argument of entries.flatMap((entry) => entry.arguments)) {
    const path = argument.keys.join('.');
    if (!byPath.has(path)) byPath.set(path, argument);
  }
  return { arguments: [...byPath.values()], found: entries.flatMap(({ found }) => found) };
}
