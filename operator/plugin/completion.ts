import type { Command } from './commands.ts';

/**
 * The program by which kubectl completes its plugins, in every shell that it completes in itself.
 * Source: kubectl, "Shell completion for plugins": kubectl_complete-PLUGIN in the PATH.
 */
export const COMPLETION_SCRIPT = `#!/bin/sh
# Save it as kubectl_complete-mcpadapter in your PATH, and make it executable.
exec kubectl-mcpadapter __complete "$@"`;

const OPTIONS = ['--context', '--help', '--kubeconfig', '--namespace', '--output', '--print-role'];
/** Of cobra: no names of files. */
const NO_FILES = ':4';

/**
 * What may stand in the place of the last word.
 * @param words as typed so far, the last one begun or empty
 * @returns lines as cobra's completion has them, the directive last
 */
export function completions(words: readonly string[], commands: Readonly<Record<string, Command>>): string[] {
  const begun = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const fits = (candidates: readonly string[]): string[] => [
    ...candidates.filter((one) => one.startsWith(begun)),
    NO_FILES,
  ];
  if (begun.startsWith('-')) return fits([...new Set([...OPTIONS, ...ownOptions(before, commands)])].toSorted());
  if (before.at(-1) === '-o' || before.at(-1) === '--output') return fits(['text', 'wide', 'json', 'yaml']);
  const names = Object.keys(commands).map((name) => name.split(' '));
  const rest = names.filter((name) => before.every((word, place) => name[place] === word));
  return fits([...new Set(rest.flatMap((name) => name[before.length] ?? []))].toSorted());
}

/** Those that the help of the command names that was typed. */
function ownOptions(before: readonly string[], commands: Readonly<Record<string, Command>>): string[] {
  const [first = '', second = ''] = before;
  const name = [`${first} ${second}`, first].find((one) => Object.hasOwn(commands, one));
  return name === undefined ? [] : (commands[name]?.help.match(/(?<![\w-])--[a-z-]+/g) ?? []);
}
