import type { Access, Decision } from './access.ts';
import { callOf, UPLOAD, type Wish } from './wishes.ts';

/** One line of an explanation. */
export interface Explained {
  readonly what: string;
  readonly says: string;
  /** The rule that decided, as a path in the server's `access`. */
  readonly by: string;
}

export interface ExplainedServer {
  /** Undefined where there are no rules. */
  readonly access: Access | undefined;
  /** Names of the upstream's tools. */
  readonly tools: readonly string[];
  /** Whether `disabled_tools` hides one. */
  readonly isDisabled: (tool: string) => boolean;
}

/** What a caller may do at a server: each tool, and files. */
export function explained({ access, tools, isDisabled }: ExplainedServer): readonly Explained[] {
  const row = (what: string, wish: Wish): Explained => {
    const decision = access?.decide(wish);
    return decision === undefined
      ? { what, says: 'allowed', by: 'no access rules' }
      : { what, says: words(decision), by: by(decision) };
  };
  return [
    ...tools.map((tool) =>
      isDisabled(tool) ? { what: tool, says: 'denied', by: 'disabled_tools' } : row(tool, callOf(tool)),
    ),
    row('files/upload', UPLOAD),
    row('files/download', { method: 'files/download' }),
  ];
}

function words({ outcome, scope }: Decision): string {
  if (scope !== undefined) return `listed; calls need the scope ${scope}`;
  return outcome === 'allowed' ? 'allowed' : 'denied';
}

const by = ({ rule }: Decision): string => (rule === undefined ? 'default' : `rules[${rule}]`);

/** Rows in columns. */
export function asTable(rows: readonly Explained[]): string {
  const all = [{ what: 'TOOL', says: 'CALLER', by: 'DECIDED BY' }, ...rows];
  const width = (of: 'what' | 'says'): number => Math.max(...all.map((row) => row[of].length));
  const [what, says] = [width('what'), width('says')];
  return all.map((row) => `  ${row.what.padEnd(what)}  ${row.says.padEnd(says)}  ${row.by}\n`).join('');
}
