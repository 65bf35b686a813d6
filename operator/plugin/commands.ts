import type { Rule, Run } from './commands/command.ts';
import { FORWARD, GET_ADAPTER, LIST_ADAPTERS, LIST_PODS, LIST_SOURCES } from './commands/rules.ts';

export interface Command {
  /** One line for the list of commands. */
  readonly summary: string;
  /** What stands behind the name on the command line. */
  readonly synopsis: string;
  /** More for --help: sentences, and options beside those that every command has. */
  readonly help: string;
  /** Lines that can be typed as they are. */
  readonly examples: readonly string[];
  /** What the caller's Role must hold in the namespace; empty: the cluster is not asked. */
  readonly rules: readonly Rule[];
  /** Loads it: no command waits for what others need. */
  readonly load: () => Promise<Run>;
}

/** Every command; its help, its page in the docs, the completion and its Role follow from this. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  status: {
    summary: 'how the resources of a namespace are, or one McpAdapter with its pods and upstreams',
    synopsis: '[NAME]',
    help: `Without NAME: one row for each McpAdapter and ApiScrapeSource, from their statuses. With NAME: conditions, pods with
version and configuration, each upstream with revision, breaker and tools, sessions and files, as the pods say.
Exit code 1: something is not as it should be.

  -A, --all-namespaces   of all namespaces (needs the rules as a ClusterRole)
  -o wide                with URLs and whole messages; upstreams pod by pod`,
    examples: ['kubectl mcpadapter status', 'kubectl mcpadapter status search -n tools -o yaml'],
    rules: [LIST_ADAPTERS, LIST_SOURCES, GET_ADAPTER, LIST_PODS, FORWARD],
    load: async () => (await import('./commands/status.ts')).run,
  },
};
