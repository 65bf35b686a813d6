import type { Rule, Run } from './commands/command.ts';
import {
  CREATE_LOCK,
  EVICT,
  FORWARD,
  GET_ADAPTER,
  GET_SOURCE,
  LIST_ADAPTERS,
  LIST_EVENTS,
  LIST_LOCKS,
  LIST_PODS,
  LIST_SOURCES,
  PATCH_ADAPTER,
  PATCH_LOCK,
  PATCH_SOURCE,
  READ_LOGS,
} from './commands/rules.ts';

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
  /** It answers --help itself. */
  readonly hasOwnHelp?: true;
  /** Loads it: no command waits for what others need. */
  readonly load: () => Promise<Run>;
}

/** To ask a pod of a McpAdapter. */
const ASKING: readonly Rule[] = [LIST_PODS, FORWARD];

/** Every command; its help, its page in the docs, the completion and its Role follow from this. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  status: {
    summary: 'how the resources of a namespace are, or one of them with its pods',
    synopsis: '[NAME|source/NAME]',
    help: `Without NAME: one row for each McpAdapter and ApiScrapeSource, from their statuses. With NAME: conditions, pods with
version and configuration, each upstream with revision, breaker and tools, sessions and files, as the pods say. With
source/NAME: conditions, and what the pods of its group say of it: who scrapes it, last and next run, windows.
Exit code 1: something is not as it should be.

  -A, --all-namespaces   of all namespaces (needs the rules as a ClusterRole)
  -o wide                with URLs and whole messages; upstreams pod by pod`,
    examples: [
      'kubectl mcpadapter status',
      'kubectl mcpadapter status search -n tools -o yaml',
      'kubectl mcpadapter status source/orders',
    ],
    rules: [LIST_ADAPTERS, LIST_SOURCES, GET_ADAPTER, GET_SOURCE, LIST_PODS, FORWARD],
    load: async () => (await import('./commands/status.ts')).run,
  },
  tools: {
    summary: 'which tools clients see, which are hidden, and why',
    synopsis: 'NAME',
    help: `Asks a pod, and the pod its upstreams, as for a client that brings no headers of its own.

  --server ID            of one server only
  --hidden               only those that are not listed
  --principal WHO        as user:SUBJECT, client:ID or token:NAME sees them, by the access rules
  --scopes LIST          with these scopes`,
    examples: [
      'kubectl mcpadapter tools search --hidden',
      'kubectl mcpadapter tools search --principal token:ci -o json',
    ],
    rules: [GET_ADAPTER, ...ASKING],
    load: async () => (await import('./commands/tools.ts')).run,
  },
  'lock create': {
    summary: 'a McpToolLock of all that the servers of a McpAdapter have now',
    synopsis: 'NAME',
    help: `A pod asks its servers for their tools, prompts, resource templates and instructions; the McpToolLock of the adapter's
name gets their digests. A first lock replaces the pods once.

  --server ID            of this server only; may be given several times
  --dry-run=client       print the McpToolLock, for Git (-o yaml or json), and create nothing
Exit code 1: something cannot be locked, or there is a lock already. 3: a server did not answer; nothing is created.`,
    examples: [
      'kubectl mcpadapter lock create search',
      'kubectl mcpadapter lock create search --dry-run=client -o yaml > search-lock.yaml',
    ],
    rules: [LIST_LOCKS, CREATE_LOCK, ...ASKING],
    load: async () => (await import('./commands/lock.ts')).create,
  },
  'lock diff': {
    summary: 'what the servers of a McpAdapter have differently from its lock, field by field',
    synopsis: 'NAME',
    help: `In colours on a terminal, where NO_COLOR is not set. A lock holds digests: what was approved is not shown, what is there
now is.

  --server ID            of this server only; may be given several times
Exit code 1: something differs. 3: a server did not answer, and nothing else differs.`,
    examples: ['kubectl mcpadapter lock diff search', 'kubectl mcpadapter lock diff search --server web -o json'],
    rules: [LIST_LOCKS, ...ASKING],
    load: async () => (await import('./commands/lock.ts')).diff,
  },
  'lock approve': {
    summary: 'takes what the servers of a McpAdapter have now into its lock: all of it, or some',
    synopsis: 'NAME [TOOL...]',
    help: `TOOL is what "lock diff" calls it, or SERVER/TOOL; prompts and resource templates likewise, and "instructions" for these.
Without any, all that differs. Where the lock stands in Git, print it and commit it: Argo CD would take this back.

  --server ID            of this server only; may be given several times
  --dry-run=client       print the McpToolLock, for Git (-o yaml or json), and change nothing
Exit code 1: something cannot be locked, or somebody else has changed the lock meanwhile.`,
    examples: [
      'kubectl mcpadapter lock approve search web/find',
      'kubectl mcpadapter lock approve search --dry-run=client -o yaml > search-lock.yaml',
    ],
    rules: [LIST_LOCKS, PATCH_LOCK, ...ASKING],
    load: async () => (await import('./commands/lock.ts')).approve,
  },
  logs: {
    summary: 'the logs of all pods of a McpAdapter as one, request by request',
    synopsis: 'NAME',
    help: `Lines of one request stand together, at the time of the first. -o json prints them as they are, with their pod.

  --since TIME           30s, 10m, 2h, 1d
  --tail NUMBER          lines of each pod (default 1000)
  --request ID           of one request only (X-Request-Id of its answer)
  -f, --follow           go on until Ctrl-C, with pods that come later too; lines of one request that are written within half a
                         second stand together`,
    examples: ['kubectl mcpadapter logs search --since 10m', 'kubectl mcpadapter logs search -f -o json'],
    rules: [LIST_PODS, READ_LOGS],
    load: async () => (await import('./commands/logs.ts')).run,
  },
  call: {
    summary: 'calls a tool through a pod, as a client would',
    synopsis: 'NAME SERVER TOOL [ARGUMENTS]',
    help: `ARGUMENTS is a JSON object, or @FILE with one. Exit code 1: the tool or the adapter said that it failed.

  --token-env NAME       variable with the token of the adapter
  --bearer               send it as Authorization: Bearer
  --header 'NAME: VALUE' one more header; may be given several times
  --timeout SECONDS      for each request (default 60)`,
    examples: [`kubectl mcpadapter call search web find '{"query":"tea"}' --token-env TOKEN`],
    rules: [GET_ADAPTER, ...ASKING],
    load: async () => (await import('./commands/call.ts')).run,
  },
  pause: {
    summary: 'the operator changes nothing of a resource until it goes on',
    synopsis: 'NAME|source/NAME',
    help: `Sets spec.paused. Where the resource stands in Git, set it there: Argo CD would take it back. Admission policies ask for
the rights that the whole spec needs.`,
    examples: ['kubectl mcpadapter pause search', 'kubectl mcpadapter pause source/orders'],
    rules: [PATCH_ADAPTER, PATCH_SOURCE],
    load: async () => (await import('./commands/pause.ts')).pause,
  },
  resume: {
    summary: 'ends a pause',
    synopsis: 'NAME|source/NAME',
    help: 'Removes spec.paused.',
    examples: ['kubectl mcpadapter resume search'],
    rules: [PATCH_ADAPTER, PATCH_SOURCE],
    load: async () => (await import('./commands/pause.ts')).resume,
  },
  restart: {
    summary: 'replaces the pods of a resource, one by one where it can',
    synopsis: 'NAME|source/NAME',
    help: 'Sets the annotation mcpadapter.io/restartedAt, which the operator hands to the pods.',
    examples: ['kubectl mcpadapter restart search'],
    rules: [PATCH_ADAPTER, PATCH_SOURCE],
    load: async () => (await import('./commands/pause.ts')).restart,
  },
  drain: {
    summary: 'replaces pods without cutting a call short: all one after the other, or one',
    synopsis: 'NAME [POD]',
    help: `Evicts a pod, which heeds the PodDisruptionBudget: it leaves the Service, opens no sessions, and ends once its running calls
have. Waits until as many pods serve as before, then takes the next.

  --timeout SECONDS      for each pod (default 600)
  --no-wait              do not wait (one pod only)`,
    examples: ['kubectl mcpadapter drain search', 'kubectl mcpadapter drain search search-7d9f-abcde --no-wait'],
    rules: [LIST_PODS, EVICT],
    load: async () => (await import('./commands/drain.ts')).run,
  },
  'sessions list': {
    summary: 'the sessions of all replicas, those that were used last first',
    synopsis: 'NAME',
    help: `A session is shown under a name that is of no use to a client, not by its id.

  --server ID            of one server only
  --limit NUMBER         most to show (default 100)
  -o wide                with whose they are, as a hash`,
    examples: ['kubectl mcpadapter sessions list search --server web'],
    rules: ASKING,
    load: async () => (await import('./commands/sessions.ts')).list,
  },
  'sessions end': {
    summary: 'ends a session at once, with its files',
    synopsis: 'NAME SESSION',
    help: 'Its client gets 404 and may open another. SESSION is the name in `sessions list`.',
    examples: ['kubectl mcpadapter sessions end search 4f1c0a9b7d2e8f35'],
    rules: ASKING,
    load: async () => (await import('./commands/sessions.ts')).end,
  },
  'files list': {
    summary: 'the uploads and artifacts of all sessions',
    synopsis: 'NAME',
    help: `  --server ID            of one server only
  --limit NUMBER         most to show (default 100)
  -o wide                with session, type and version`,
    examples: ['kubectl mcpadapter files list search -o wide'],
    rules: ASKING,
    load: async () => (await import('./commands/files.ts')).list,
  },
  'files remove': {
    summary: 'removes a file, also one that is in use',
    synopsis: 'NAME FILE',
    help: 'FILE is the name in `files list`.',
    examples: ['kubectl mcpadapter files remove search 0b5d7c3e9a1f2468'],
    rules: ASKING,
    load: async () => (await import('./commands/files.ts')).remove,
  },
  explain: {
    summary: 'scrapes a source once and shows every step; nothing is sent or remembered',
    synopsis: 'NAME',
    help: `A pod asks the API and shows the requests, the records, and what would be sent, without secrets. Exit code 1: it would
not work.

  --limit NUMBER         most records to show (default 5, at most 100)`,
    examples: ['kubectl mcpadapter explain orders', 'kubectl mcpadapter explain orders --limit 1 -o json'],
    rules: [GET_SOURCE, ...ASKING],
    load: async () => (await import('./commands/sources.ts')).explain,
  },
  windows: {
    summary: 'the windows of time of a source: open, committed, or set aside',
    synopsis: 'NAME',
    help: `The latest first.

  --state STATE          only open, exporting, exported, committed or dead ones
  --limit NUMBER         most to show (default 100)`,
    examples: ['kubectl mcpadapter windows orders --state dead'],
    rules: [GET_SOURCE, ...ASKING],
    load: async () => (await import('./commands/sources.ts')).windows,
  },
  backfill: {
    summary: 'has a source scraped for a time in the past',
    synopsis: 'NAME START END',
    help: 'Times in ISO 8601. Windows that are open already are not planned twice. For sources with a start and an end only.',
    examples: ['kubectl mcpadapter backfill orders 2026-01-01T00:00:00Z 2026-01-02T00:00:00Z'],
    rules: [GET_SOURCE, ...ASKING],
    load: async () => (await import('./commands/sources.ts')).backfill,
  },
  retry: {
    summary: 'opens windows again that were set aside after too many attempts',
    synopsis: 'NAME',
    help: '"windows NAME --state dead" shows them, with what went wrong.',
    examples: ['kubectl mcpadapter retry orders'],
    rules: [GET_SOURCE, ...ASKING],
    load: async () => (await import('./commands/sources.ts')).retry,
  },
  report: {
    summary: 'a zip for a bug report, without secrets',
    synopsis: '[-f FILE]',
    help: `Resources of the namespace with their statuses, pods, Events, what pods say of themselves, and their logs. Values of
variables, headers, credentials in URLs and whatever is named like a secret are <redacted>, everywhere that they stand; overlays
and logs of sidecars are left out. Look through it before you send it. What you may not read is left out and said.

  -f, --file FILE        instead of mcpadapter-report-TIME.zip; it must not exist`,
    examples: ['kubectl mcpadapter report -n tools -f report.zip'],
    rules: [LIST_ADAPTERS, LIST_SOURCES, LIST_PODS, LIST_EVENTS, READ_LOGS, FORWARD],
    load: async () => (await import('./commands/report.ts')).run,
  },
  render: {
    summary: 'what the operator would make of resources in files',
    synopsis: '-f PATH...',
    help: 'As mcp-operator render.',
    examples: ['kubectl mcpadapter render -f search.yaml'],
    rules: [],
    hasOwnHelp: true,
    load: async () => (await import('./commands/offline.ts')).render,
  },
  validate: {
    summary: 'what is wrong with resources in files',
    synopsis: '-f PATH...',
    help: 'As mcp-operator validate.',
    examples: ['kubectl mcpadapter validate -f search.yaml'],
    rules: [],
    hasOwnHelp: true,
    load: async () => (await import('./commands/offline.ts')).validate,
  },
  local: {
    summary: 'runs resources from files on this machine',
    synopsis: 'PATH...',
    help: 'As mcp-operator local.',
    examples: ['kubectl mcpadapter local examples/'],
    rules: [],
    hasOwnHelp: true,
    load: async () => (await import('./commands/offline.ts')).local,
  },
  suggest: {
    summary: 'which arguments of a server’s tools are files, for the configuration',
    synopsis: 'URL',
    help: 'As mcp-adapter suggest.',
    examples: ['kubectl mcpadapter suggest http://localhost:8101/mcp'],
    rules: [],
    hasOwnHelp: true,
    load: async () => (await import('./commands/offline.ts')).suggest,
  },
  completion: {
    summary: 'the script by which kubectl completes these commands',
    synopsis: '',
    help: 'Works in every shell in which kubectl completes its own.',
    examples: [
      'kubectl mcpadapter completion > ~/bin/kubectl_complete-mcpadapter',
      'chmod +x ~/bin/kubectl_complete-mcpadapter',
    ],
    rules: [],
    load:
      async () =>
      async (_args, { streams }) => {
        const { COMPLETION_SCRIPT } = await import('./completion.ts');
        streams.out(COMPLETION_SCRIPT);
        return 0;
      },
  },
};
