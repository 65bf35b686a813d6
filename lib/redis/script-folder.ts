import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { RedisScript } from './redis-script.ts';

/** What TypeScript declares and Lua uses. */
export type Constants = Readonly<Record<string, number | string | readonly string[]>>;

/** `-- needs: sessions/session, MAX_FILES` */
const NEEDS = /^-- needs: (.+)$/gm;

/**
 * The Lua scripts of one program, a `.lua` file each, by their paths below the folder. A line of such a file that begins with
 * `-- needs:` names other files and constants. They stand in front of it, each once, so that their local names can be used.
 */
export class ScriptFolder {
  readonly #folder: URL;
  readonly #constants: Constants;
  readonly #scripts: RedisScript[] = [];
  readonly #texts = new Map<string, string>();

  /** @param folder ends with a slash */
  constructor(folder: URL, constants: Constants = {}) {
    this.#folder = folder;
    this.#constants = constants;
  }

  /** A script that is read by `load`, or when it is used first. */
  script(name: string): RedisScript {
    const script = new FolderScript(this, name);
    this.#scripts.push(script);
    return script;
  }

  /** Reads all scripts, so that nothing waits for a disk later; throws when one is missing or needs what there is not. */
  load(): void {
    for (const { sha1 } of this.#scripts) void sha1;
  }

  /** The text that Redis gets. */
  source(name: string): string {
    return [...this.#parts(name, new Map()).values()].join('\n');
  }

  /** Adds what a name stands for to `parts`, after what it needs; what is there already keeps its place. */
  #parts(name: string, parts: Map<string, string>): Map<string, string> {
    const constant = this.#constants[name];
    if (constant !== undefined) return parts.set(name, `local ${name} = ${literal(constant)}`);
    const text = this.#texts.get(name) ?? readFileSync(new URL(`${name}.lua`, this.#folder), 'utf8');
    this.#texts.set(name, text);
    for (const [, needs = ''] of text.matchAll(NEEDS)) {
      for (const need of needs.split(', ')) this.#parts(need, parts);
    }
    return parts.set(name, text);
  }
}

class FolderScript implements RedisScript {
  readonly #folder: ScriptFolder;
  readonly #name: string;
  #sha1: string | undefined;

  constructor(folder: ScriptFolder, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  get source(): string {
    return this.#folder.source(this.#name);
  }

  get sha1(): string {
    return (this.#sha1 ??= createHash('sha1').update(this.source).digest('hex'));
  }
}

function literal(value: Constants[string]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `{ ${value.map(literal).join(', ')} }`;
  if (!/^\w*$/.test(value)) throw new TypeError(`not a word: ${value}`);
  return `'${value}'`;
}
