/** A threat, and what is done about it: one sentence or a few, which the tests prove. */
export interface Threat {
  readonly id: `T${number}`;
  readonly threat: string;
  readonly defence: string;
}

export const THREATS: readonly Threat[] = [
  {
    id: 'T1',
    threat: 'A session is taken over',
    defence:
      'Ids have 128 random bits. A session belongs to its server and to who opened it; to anybody else it does not exist (404). The state can be read by its user only.',
  },
  {
    id: 'T2',
    threat: 'Sessions hang on the bytes of a token',
    defence: 'The store holds a keyed hash (HMAC) of the token, never the token, and another key for each purpose.',
  },
  {
    id: 'T3',
    threat: 'A handle of somebody else is used (2026-07-28)',
    defence: 'Handles and workspaces are looked up with who calls and which server is meant; both must fit.',
  },
  {
    id: 'T4',
    threat: 'Tokens are passed through',
    defence:
      "Headers go upstream only where they are listed. The adapter's own token, cookies and headers of the connection never do; `Authorization` needs `unsafe: true`, and the operator's status says so.",
  },
  {
    id: 'T5',
    threat: 'Requests to inner addresses (SSRF)',
    defence:
      'Each address is checked where the connection is made, after names are resolved: metadata services in every written form and link-local addresses never, loopback not in pods without a sidecar, the API server only where it is allowed. Redirects stay on their origin. NetworkPolicies block the same addresses.',
  },
  {
    id: 'T6',
    threat: "A tool's answer names a file of somebody else",
    defence:
      'Only regular files below the folders of the session or the configured roots, checked on the opened descriptor; links, devices and the state are refused.',
  },
  {
    id: 'T7',
    threat: 'Paths and links lead out of a folder',
    defence:
      'Folders are opened one by one without following links; names are made safe. State lies apart from files, sidecars see their own folders, and an upload that was changed on the disk is refused.',
  },
  {
    id: 'T8',
    threat: 'A forged `Host` leads uploads elsewhere',
    defence:
      '`X-Forwarded-*` count from trusted proxies only, and only with a name that is allowed; the operator sets `public_base_url` from Ingress or HTTPRoute.',
  },
  {
    id: 'T9',
    threat: 'References read secrets of others, or secrets stand in resources',
    defence:
      '`${VAR}` in a resource knows only variables which that resource declares. Literal secrets make it `InvalidSpec`. Logs, health, statuses and Events tell hosts from variables as they are written.',
  },
  {
    id: 'T10',
    threat: 'Poisoned tools',
    defence:
      'All that a model reads (names, descriptions, titles, enums, icons, instructions, prompts, resources, templates) is cleaned or hidden, and pinned to what was seen first, for clients with and without sessions. With a tool lock, what nobody approved is not served at all.',
  },
  {
    id: 'T11',
    threat: 'A deny list that fails open',
    defence:
      'Patterns that cannot be compiled are named by `--check-config` and at the start; `core.invalid_patterns` hides all or refuses to start, and the operator refuses them.',
  },
  {
    id: 'T12',
    threat: 'Patterns that compute for ever',
    defence: 'RE2 everywhere, compiled once, with a largest number and length in resources.',
  },
  {
    id: 'T13',
    threat: 'DNS rebinding and foreign origins',
    defence: '`Origin` and `Host` are checked before anything else, on the metrics port too.',
  },
  {
    id: 'T14',
    threat: 'Headers and body say different things',
    defence:
      '`Mcp-Method`, `Mcp-Name` and `Mcp-Param-*` are compared with the body; members that are named twice or in another case are refused.',
  },
  {
    id: 'T15',
    threat: 'A cached list reaches another caller',
    defence:
      'Lists are kept for one session and one set of forwarded headers, and are `private` where they are pinned.',
  },
  {
    id: 'T16',
    threat: 'Signed URLs are replayed or changed',
    defence:
      'Signatures cover server, session and time; an upload URL works once, on any replica. Downloads are attachments.',
  },
  {
    id: 'T17',
    threat: 'Anybody takes a program down',
    defence:
      'Values are counted before anything is parsed; bytes of bodies and of kept answers have budgets for the process; frames are searched forward only; connections, pipelined requests, parameters, pages and windows are bounded; one turn of the event loop takes a bounded part of all bytes, and large lists come one after another. A window under way at two crashes is set aside.',
  },
  {
    id: 'T18',
    threat: '`requestState` is tampered with',
    defence:
      "The adapter's own, of questions for a file, is sealed (AES-GCM) and good for one caller, server, tool and set of parameters, for as long as its link. An upstream's passes unchanged, or sealed within that one, so the seal of the upstream stays whole, and it is never logged.",
  },
  {
    id: 'T19',
    threat: 'Redis is shared or read',
    defence:
      'Every key expires and has a prefix, which the operator makes from namespace and name; keys of another adapter are refused at the start.',
  },
  {
    id: 'T20',
    threat: "The operator's rights",
    defence: 'No right on Secrets, none by wildcard, nothing cluster-wide where it is namespaced; pods get no token.',
  },
  {
    id: 'T21',
    threat: 'The scraper gives credentials away',
    defence: 'Credentials stay on their origin: not followed by redirects, not sent to hosts that an answer names.',
  },
  {
    id: 'T22',
    threat: 'A custom resource is a pod in disguise',
    defence:
      "Admission policies ask the API server's authorizer for the rights on what a resource brings about; the operator refuses what leaves the pod (`--pod-overlay`), variables that are code, and fields of a group that belong to its oldest source.",
  },
  {
    id: 'T23',
    threat: 'A neighbour holds up the operator',
    defence:
      'Pods are asked beside the queue; a resource has 50 ms of computing time on the event loop, and larger ones go to a thread that can be ended; sizes are counted before references are resolved.',
  },
  {
    id: 'T24',
    threat: 'A caller uses what only others may',
    defence:
      'One decision holds for lists, calls, calls that code makes, resources, templates, prompts, completion, subscriptions, uploads and downloads. What is not allowed is not there; a URI must be allowed in every spelling that servers may read; lists, warnings and indexes are kept by what a caller may see.',
  },
  {
    id: 'T24',
    threat: 'Supply chain',
    defence:
      "Packages have integrities in the lockfile; only Node's install script runs, and its binary is compared with known hashes.",
  },
  {
    id: 'T25',
    threat: 'Weak tokens and keys',
    defence:
      'Short tokens and an open address are warned of; keys that sign are derived (HKDF) for one purpose each; hashes of tokens and arguments are keyed.',
  },
  {
    id: 'T26',
    threat: 'A caller uses up a tool for all others',
    defence:
      '`limits` count calls by caller, tool and server, over all replicas and both families of revisions; sessions, batches, code and made-up names of tools give nobody more.',
  },
];
