import { describe, expect, test } from 'vitest';
import { mounted, startDeployment } from '../adapter/kit/deployment.ts';
import { freePort } from '../support/ports.ts';
import { missing } from './cached.ts';
import { startPytest } from './python-sdk.ts';

const SUITES = ['tests/interaction/lowlevel', 'tests/interaction/mcpserver'];
const LIMIT_MS = 300_000;

const WHOLE = 'while lists are pinned the adapter reads the whole list as well, and the pages are recorded';
const LISTS = 'the server changes its tools and tells nobody';
const NOT_FOUND =
  'what says that there is no such resource is a code of its own in one revision, and -32602 in the other';

interface Cell {
  /** What the servers speak. */
  readonly servers: 'older' | 'newer';
  /** What the clients speak. */
  readonly clients: string;
  readonly passes: number;
  /** Files of the suite whose servers do what there is in the other family only. */
  readonly without: readonly string[];
  /** Tests (`file::name`) that end differently over the bridge, and why that is meant. */
  readonly excused: readonly (readonly [RegExp, string])[];
}

const PAGES = [
  [
    /test_pagination\.py::test_(next_cursor_round|the_client_follows|resources_list|resource_templates|prompts_list)/,
    WHOLE,
  ],
] as const;

const CELLS: readonly Cell[] = [
  {
    servers: 'older',
    clients: '2026-07-28',
    passes: 60,
    without: ['subscriptions', 'extensions'],
    excused: [
      ...PAGES,
      [
        /carries_the_three_key_meta_envelope/,
        'an older server sees none of the metadata, or it would refuse the request',
      ],
      [
        /log_delivery_follows_the_per_request/,
        'an older server says on the stream of its session what it says of no call',
      ],
      [/test_read_resource_unknown_uri_is_protocol_error/, NOT_FOUND],
    ],
  },
  {
    servers: 'newer',
    clients: 'streamable-http-2025-11-25',
    passes: 55,
    without: [
      'elicitation',
      'sampling',
      'roots',
      'logging',
      'ping',
      'context',
      'progress',
      'initialize',
      'lifecycle',
      'meta',
    ],
    excused: [
      ...PAGES,
      [/does_not_notify_connected_clients/, LISTS],
      [/test_read_unknown_uri|raising_not_found/, NOT_FOUND],
      [
        /test_(cancellation|flows)\.py|_list_changed_notification|resource_updated/,
        'the server asks or says something that belongs to no call, which one of 2026-07-28 cannot',
      ],
      [/test_resources\.py|subscribe_/, 'the server’s own handler of subscriptions'],
      [/test_(prompts|tools)\.py/, 'the same server says its own failure in other words in the newer revision'],
    ],
  },
];

describe('the Python SDK’s own interaction suite over the bridge', () => {
  test.each(CELLS)('clients of $clients reach $servers servers', { timeout: LIMIT_MS }, async (cell) => {
    const reason = await missing('python3', '-m', 'venv', '--help');
    if (reason !== undefined) throw new Error(reason);
    const port = await freePort();
    const upstream = { client_headers: { passthrough: ['X-Suite-Server'] } };
    const servers = [mounted('up', `http://127.0.0.1:${port}/mcp`, { upstream })];
    await using deployment = await startDeployment({
      config: { servers, uploads: { enabled: false }, artifacts: { enabled: false } },
    });
    const without = cell.without.map((file) => ` and not test_${file}`).join('');
    const chosen = `streamable-http and not trio and not stateless and ${cell.clients}${without}`;
    await using pytest = await startPytest(
      'through_bridge',
      ['-q', '--inline-snapshot=disable', '-k', chosen, ...SUITES],
      {
        ADAPTER_URL: `${deployment.balancer.url}/mcp/up`,
        UPSTREAM_PORT: String(port),
        SERVERS: cell.servers,
      },
    );
    await pytest.exitsWithin(LIMIT_MS - 30_000);
    const output = pytest.stdout();
    expect(output, pytest.stderr()).toContain(' passed');
    const failed = [...output.matchAll(/^(?:FAILED|ERROR) \S*?(\w+\.py::\w+)/gm)].map(([, name = '']) => name);
    const isExcused = (name: string): boolean => cell.excused.some(([pattern]) => pattern.test(name));
    expect([...new Set(failed.filter((name) => !isExcused(name)))].toSorted(), output.slice(-8_000)).toEqual([]);
    expect(Number(/(\d+) passed/.exec(output)?.[1])).toBeGreaterThan(cell.passes);
  });
});
