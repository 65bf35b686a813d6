import type { AdapterEntry } from '../../crds/config/adapter-file/entry.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { NotTaken } from './found-files.ts';
import { type UnmatchedRule, unmatchedRules } from './rule-check.ts';

/** What is kept of files that were not taken. */
const MOST_FILES = 10;
const MAX_CHARS = 200;

export interface FileRulesWatchOptions {
  readonly serverId: string;
  readonly entries: readonly AdapterEntry[];
  readonly telemetry: Pick<Telemetry, 'fileRule'>;
  readonly warn: (message: string) => void;
}

/** What does not fit between the entries of `adapters` and their server; told in the log once, and in the health. */
export class FileRulesWatch {
  readonly #options: FileRulesWatchOptions;
  #unmatched: readonly UnmatchedRule[] = [];
  readonly #notTaken = new Map<string, string>();

  constructor(options: FileRulesWatchOptions) {
    this.#options = options;
  }

  /** The server has listed its tools (JSON text of a tools/list result). */
  listed(list: string): void {
    const { entries, serverId, telemetry, warn } = this.#options;
    const rules = unmatchedRules(entries, list);
    const known = new Set(this.#unmatched.map(({ message }) => message));
    this.#unmatched = rules;
    for (const { message, reason } of rules) {
      if (known.has(message)) continue;
      telemetry.fileRule({ serverId, reason });
      warn(message);
    }
  }

  /** A tool has named a file that was not taken. */
  notTaken(tool: string, { seen, folder, reason }: NotTaken): void {
    const { serverId, telemetry, warn } = this.#options;
    telemetry.fileRule({ serverId, reason: 'not_taken' });
    const path = seen.length > MAX_CHARS ? `${seen.slice(0, MAX_CHARS)}…` : seen;
    const message = `${tool} named ${JSON.stringify(path)}, which was not taken from ${folder}: ${reason}`;
    warn(message);
    this.#notTaken.delete(tool);
    this.#notTaken.set(tool, message);
    const [oldest] = this.#notTaken.keys();
    if (this.#notTaken.size > MOST_FILES && oldest !== undefined) this.#notTaken.delete(oldest);
  }

  get unmatched(): readonly UnmatchedRule[] {
    return this.#unmatched;
  }

  /** The last files that were named and not taken: a sentence for each tool. */
  get filesNotTaken(): readonly string[] {
    return [...this.#notTaken.values()];
  }
}
