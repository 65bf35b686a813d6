import { readFileSync } from 'node:fs';
import type { Outcomes } from './clients.ts';
import type { Family } from './servers.ts';

/** The page whose tables say what comes of what. */
const PAGE = new URL('../../../docs/adapter/revisions.md', import.meta.url);
const WORKS = 'works';
const EACH = 'each';
const OWN_ERROR = "the server's error";

/** What a client has seen of a feature that works, by the feature's name in the table. */
const WORKING: Readonly<Record<string, RegExp>> = {
  'list of tools': /\btest_simple_text\b/,
  call: /^This is a simple text response for testing\.$/,
  'error of a tool': /^isError: this tool intentionally returns an error/i,
  'list of resources': /test:\/\/static-text\b/,
  resource: /^This is the content of the static text resource\.$/,
  'list of templates': /^test:\/\/template\/\{id\}\/data$/,
  'resource of a template': /Data for ID: 7\b/,
  'list of prompts': /\btest_prompt_with_arguments\b/,
  prompt: /^Prompt with arguments: arg1='a', arg2='b'$/,
  completion: /^paris park party$/,
  progress: /^0 50 100$/,
  'log messages': /^log log log$/,
  cancellation: /^cancelled$/,
  elicitation: /^(?!isError).*\bAda\b/,
  sampling: /^(?!isError).*\bParis\b/,
  roots: /^(?!isError).*file:\/\/\/work$/,
  'several questions': /^(?!isError)(?=.*\bAda\b)(?=.*\bParis\b).*(?:\b1 root|file:\/\/\/work)/,
  'question of a prompt': /^Context: Ada$/,
  'resource updates': /^heard$/,
  'list changes': /^heard$/,
};
const AN_ERROR = /^(?:isError|-?\d+|CAPABILITY_NOT_SUPPORTED): /;
const REVISIONS: Readonly<Record<Family, string>> = { older: '2025-11-25', newer: '2026-07-28' };

interface Row {
  readonly features: readonly string[];
  /** The cells after the first: same family, older client, newer client. */
  readonly cells: readonly string[];
}
interface Exception {
  readonly client: string;
  readonly server: string;
  readonly features: readonly string[];
  readonly instead: string;
}

const lines = readFileSync(PAGE, 'utf8').split('\n## Tested with\n')[1]?.split('\n') ?? [];

/** The rows of the table with this head. */
function table(head: string): string[][] {
  const at = lines.findIndex((line) => line.startsWith(head));
  if (at === -1) throw new Error(`the page has no table ${head}`);
  const rest = lines.slice(at + 2);
  const rows = rest.slice(
    0,
    rest.findIndex((line) => !line.startsWith('|')),
  );
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const ROWS: readonly Row[] = table('| | Same family |').map(([names = '', ...cells]) => ({
  features: names.split(', '),
  cells,
}));
const EXCEPTIONS: readonly Exception[] = table('| Client | Server |').map(
  ([client = '', server = '', names = '', instead = '']) => ({ client, server, features: names.split(', '), instead }),
);

/** A client or a server. */
interface Party {
  readonly sdk: string;
  readonly family: Family;
}
const nameOf = ({ sdk, family }: Party): string =>
  `${sdk}, ${family === 'newer' ? 'without sessions' : 'with sessions'}`;

/** What the page says of each feature: `works`, or what an error has. */
export function expected(client: Party, server: Party): Outcomes {
  const column = client.family === server.family ? 0 : client.family === 'older' ? 1 : 2;
  const said: Record<string, string> = { revision: WORKS };
  for (const { features, cells } of ROWS) for (const name of features) said[name] = cells[column] ?? '';
  for (const { client: whose, server: where, features, instead } of EXCEPTIONS) {
    if (![EACH, nameOf(server)].includes(where) || ![EACH, nameOf(client)].includes(whose)) continue;
    for (const name of features) said[name] = instead;
  }
  return said;
}

/** The outcomes, each that is what the page says in the page's words. */
export function compared(client: Party, server: Party, outcomes: Outcomes): Outcomes {
  const page = expected(client, server);
  const isAsSaid = (name: string, outcome: string, said: string): boolean => {
    if (name === 'revision') return outcome === REVISIONS[client.family];
    if (said === WORKS) return WORKING[name]?.test(outcome) === true;
    if (said.includes(OWN_ERROR) && AN_ERROR.test(outcome)) return true;
    return [...said.matchAll(/`([^`]+)`/g)].some(([, part = '']) => outcome.includes(part));
  };
  return Object.fromEntries(
    Object.entries(outcomes).map(([name, outcome]) => {
      const said = page[name] ?? 'not in the table';
      return [name, isAsSaid(name, outcome, said) ? said : `${outcome} (the page: ${said})`];
    }),
  );
}
