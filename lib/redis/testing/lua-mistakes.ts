import { readdirSync, readFileSync } from 'node:fs';
import luaparse from 'luaparse';
import type { ScriptFolder } from '../script-folder.ts';

/** What Redis gives to scripts, as far as ours use it. */
const KNOWN = new Set('KEYS ARGV redis cjson ipairs pairs math string table tonumber tostring unpack'.split(' '));
const NEEDS = /^-- needs: (.+)$/gm;
/** A key or an argument by its number, anywhere but where it gets its name. */
const BY_NUMBER = /^(?!local ).*\b(?:KEYS|ARGV)\[\d+\]/gm;

/** The `.lua` files below a folder, named as in `-- needs:`. */
export const luaFiles = (folder: URL): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -'.lua'.length))
    .sort();

const textOf = (folder: URL, name: string): string => readFileSync(new URL(`${name}.lua`, folder), 'utf8');

const needsOf = (folder: URL, name: string): string[] =>
  Array.from(textOf(folder, name).matchAll(NEEDS), ([, needs = '']) => needs.split(', ')).flat();

/** Files that neither another one needs nor a module beside the folder names. */
export function unusedFiles(folder: URL): string[] {
  const beside = new URL('../', folder);
  const modules = readdirSync(beside).filter((file) => file.endsWith('.ts') && !/\.(test|contract)\.ts$/.test(file));
  const texts = modules.map((file) => readFileSync(new URL(file, beside), 'utf8'));
  const needed = new Set(luaFiles(folder).flatMap((name) => needsOf(folder, name)));
  return luaFiles(folder).filter(
    (name) => !needed.has(name) && !texts.some((text) => text.includes(`cript('${name}')`)),
  );
}

/** What is wrong with a file; throws what the parser says when it is not Lua. */
export function luaMistakes(scripts: ScriptFolder, folder: URL, name: string): string[] {
  const text = textOf(folder, name);
  const { globals, locals, uses } = namesIn(text);
  // What a file that is only needed by others has for them.
  const isPart = !globals.has('KEYS') && !globals.has('ARGV');
  const unused = isPart ? [] : [...locals].filter((local) => local !== '_' && uses.get(local) === 1);
  const unneeded = needsOf(folder, name).filter((need) => {
    const names = need.includes('/') || luaFiles(folder).includes(need) ? namesIn(textOf(folder, need)).locals : [need];
    return ![...names].some((one) => globals.has(one));
  });
  return [
    ...[...namesIn(scripts.source(name)).globals]
      .filter((global) => !KNOWN.has(global))
      .map((one) => `unknown: ${one}`),
    ...unused.map((local) => `not used: ${local}`),
    ...unneeded.map((need) => `not needed: ${need}`),
    ...Array.from(text.matchAll(BY_NUMBER), ([line]) => `without a name: ${line.trim()}`),
  ];
}

/** The names of a text that it does not declare; those that it does, and how often each name is in it. */
function namesIn(text: string): { globals: Set<string>; locals: Set<string>; uses: Map<string, number> } {
  const locals = new Set<string>();
  const uses = new Map<string, number>();
  const chunk = luaparse.parse(text, {
    luaVersion: '5.1',
    scope: true,
    encodingMode: 'pseudo-latin1',
    onCreateNode: (node) => {
      if (node.type === 'Identifier') uses.set(node.name, (uses.get(node.name) ?? 0) + 1);
      else if (node.type === 'LocalStatement') for (const { name } of node.variables) locals.add(name);
      else if (node.type === 'FunctionDeclaration' && node.identifier?.type === 'Identifier')
        locals.add(node.identifier.name);
    },
  });
  // The types do not know what `scope` adds.
  const { globals } = chunk as unknown as { readonly globals: readonly { readonly name: string }[] };
  return { globals: new Set(globals.map(({ name }) => name)), locals, uses };
}
