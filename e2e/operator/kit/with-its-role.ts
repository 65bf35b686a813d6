import { expect } from 'vitest';
import { COMMANDS } from '../../../operator/plugin/commands.ts';
import type { Rule } from '../../../operator/plugin/commands/command.ts';
import { type Account, plugin, type PluginRun, withoutEach } from './plugin.ts';

export const rulesOf = (command: string): readonly Rule[] => COMMANDS[command]?.rules ?? [];

/** Runs it with exactly its Role, then without each of the rules that these arguments need. */
export async function withItsRole(
  person: Account,
  command: string,
  args: readonly string[],
  needed: (rule: Rule) => boolean = () => true,
): Promise<PluginRun> {
  const line = [...command.split(' '), ...args];
  for (const { lost, rest } of withoutEach(rulesOf(command)).filter((one) => needed(one.lost))) {
    await person.may(rest);
    const refused = await plugin(person.kubeconfig, line);
    expect({ command, lost, ...refused }).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`cannot ${lost.verbs[0]} resource "${lost.resources[0]}"`),
    });
  }
  await person.may(rulesOf(command));
  return plugin(person.kubeconfig, line);
}

export const ofResource =
  (resource: string) =>
  ({ resources }: Rule): boolean =>
    resources.includes(resource);
