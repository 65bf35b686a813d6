import { stringify } from 'yaml';

import type { Command } from './commands.ts';

export const NAME = 'kubectl mcpadapter';

const COMMON = `  -n, --namespace NAME   instead of that of the context
  --context NAME         of the kubeconfig
  --kubeconfig FILE      instead of $KUBECONFIG or ~/.kube/config
  -o, --output FORMAT    text (default), wide, json or yaml
  --print-role           print the Role that this command needs, and do nothing else
  --help                 this text`;

const EXIT_CODES = `Exit codes: 0 all is well; 1 something is wrong with the resource; 2 wrong use; 3 the cluster or a pod cannot be reached,
or refuses.`;

/** The list of all commands. */
export function overallHelp(commands: Readonly<Record<string, Command>>): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}`);
  return `Usage: ${NAME} COMMAND [options]

Operates McpAdapters and ApiScrapeSources. It asks nothing but the API server of the kubeconfig.

Commands:
${lines.join('\n')}

${NAME} COMMAND --help has more, with examples. --version prints the version.

${EXIT_CODES}`;
}

export function commandHelp(name: string, { synopsis, help, examples, rules }: Command): string {
  return `${usageOf(name, synopsis)}

${help}
${rules.length > 0 ? `\n${COMMON}\n` : '\n  --help                 this text\n'}
Examples:
${examples.map((line) => `  ${line}`).join('\n')}

${EXIT_CODES}`;
}

const usageOf = (name: string, synopsis: string): string => `Usage: ${NAME} ${name} ${synopsis}`.trimEnd();

/** A Role with exactly what a command needs, as YAML; a comment where it needs nothing. */
export function roleOf(name: string, { rules }: Pick<Command, 'rules'>): string {
  if (rules.length === 0) return `# ${NAME} ${name} does not ask the cluster for anything`;
  return stringify({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: `mcpadapter-${name.replaceAll(' ', '-')}` },
    rules: rules.map(({ apiGroups, resources, verbs }) => ({ apiGroups, resources, verbs })),
  }).trimEnd();
}
