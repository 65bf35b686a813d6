import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AUDIENCE, type SampleKey, sampleKey, signed } from '../../../adapter/identity/testing/sample-issuer.ts';
import { runAdapter } from '../../support/adapter-process.ts';
import { readEvents } from '../../support/raw-client.ts';
import { startRawUpstream } from '../../support/raw-upstream.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { saidBy } from '../code-mode/kit/code.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { drain, initialize, openSession } from '../kit/session.ts';
import { type Doors, FAMILIES, type Family, type Got, openDoors } from './kit/doors.ts';
import { type GuardedServer, nonceOf, startGuardedServer } from './kit/guarded-server.ts';
import { type RunningIssuer, startIssuer } from './kit/running-issuer.ts';

const STATIC = secret('token for machines');

/** Claims of a token; `ci` has one of the configuration. */
const CALLERS = {
  anna: { sub: 'anna', groups: ['support'], realm: { roles: ['viewer'] }, scope: 'tools' },
  bob: { sub: 'bob', groups: ['admin'], realm: { roles: ['editor', 'viewer'] }, scope: 'tools files' },
  carl: { sub: 'carl', scope: 'tools' },
  robot: { sub: 'robot', client_id: 'robot', realm: { roles: ['editor'] }, scope: 'tools' },
  ci: undefined,
} as const;
type Caller = keyof typeof CALLERS;
const NAMES = Object.keys(CALLERS) as Caller[];

/**
 * What each caller may do under each policy, in this order: the tools read and write, resources doc://public/ and
 * doc://private/, the prompts greet and admin, uploads, downloads. `+` yes, `-` it is not there, `s` with the scope files.
 */
const POLICIES: Record<string, { readonly access: JsonObject; readonly expected: Record<Caller, string> }> = {
  open: {
    access: {},
    expected: { anna: '++++++++', bob: '++++++++', carl: '++++++++', robot: '++++++++', ci: '++++++++' },
  },
  closed: {
    access: { default: 'deny' },
    expected: { anna: '--------', bob: '--------', carl: '--------', robot: '--------', ci: '--------' },
  },
  groups: {
    access: {
      default: 'deny',
      rules: [
        { effect: 'allow', claims: { groups: ['admin'] } },
        { effect: 'allow', tools: ['read'] },
      ],
    },
    expected: { anna: '+-------', bob: '++++++++', carl: '+-------', robot: '+-------', ci: '+-------' },
  },
  denials: {
    access: {
      rules: [
        { effect: 'deny', tools: ['write'] },
        { effect: 'deny', resources: ['doc://private/*'] },
        { effect: 'deny', prompts: ['admin'], principals: ['user:carl', 'token:*'] },
      ],
    },
    expected: { anna: '+-+-++++', bob: '+-+-++++', carl: '+-+-+-++', robot: '+-+-++++', ci: '+-+-+-++' },
  },
  scopes: {
    access: {
      default: 'deny',
      rules: [
        { effect: 'allow', scopes: ['files'] },
        { effect: 'allow', tools: ['read'] },
      ],
    },
    expected: { anna: '+sssssss', bob: '++++++++', carl: '+sssssss', robot: '+sssssss', ci: '+-------' },
  },
  principals: {
    access: {
      default: 'deny',
      rules: [
        { effect: 'allow', principals: ['user:*'], tools: ['r*'] },
        { effect: 'allow', principals: ['client:robot'], prompts: ['*'] },
        { effect: 'allow', principals: ['token:ci'], methods: ['files/*'] },
      ],
    },
    expected: { anna: '+-------', bob: '+-------', carl: '+-------', robot: '----++--', ci: '------++' },
  },
  roles: {
    access: {
      rules: [
        { effect: 'allow', claims: { 'realm.roles': ['editor'] } },
        { effect: 'deny', principals: ['user:*'], methods: ['files/upload'] },
        { effect: 'deny', tools: ['write'] },
      ],
    },
    expected: { anna: '+-++++-+', bob: '++++++++', carl: '+-++++-+', robot: '++++++++', ci: '+-++++++' },
  },
  order: {
    access: {
      rules: [
        { effect: 'deny', principals: ['user:anna'], resources: ['doc://*'] },
        { effect: 'allow', resources: ['doc://public/*'] },
        { effect: 'deny', resources: ['*'] },
      ],
    },
    expected: { anna: '++--+++-', bob: '+++-+++-', carl: '+++-+++-', robot: '+++-+++-', ci: '+++-+++-' },
  },
};

const CASES = Object.entries(POLICIES).flatMap(([policy, { expected }]) =>
  NAMES.map((caller) => ({ policy, caller, may: expected[caller] })),
);

/** Those of the table that say something of themselves. */
const THINGS = ['read', 'write', 'public', 'private', 'greet', 'admin'];
const AT_ARTIFACT = `${'0'.repeat(32)}/${'1'.repeat(32)}/a.txt`;
const SAID: Record<string, Got> = { '+': 'yes', '-': 'unknown', s: 'scope' };

describe('at two replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let key: SampleKey;
  let issuer: RunningIssuer;
  let upstream: GuardedServer;
  let deployment: Deployment;

  const auth = (): JsonObject => ({
    enabled: true,
    tokens: [{ name: 'ci', token: STATIC }],
    oauth: { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, audiences: [AUDIENCE], scopes: ['tools'] },
  });

  beforeAll(async () => {
    key = await sampleKey('first');
    issuer = started.use(await startIssuer(key));
    upstream = started.use(await startGuardedServer());
    const adapters = [{ type: 'artifact_producer', tools: ['write'], output_path_argument: 'path' }];
    const servers = Object.entries(POLICIES).flatMap(([policy, { access }]) => [
      mounted(policy, upstream.url, { access, adapters }),
      mounted(`${policy}-code`, upstream.url, { access, code_mode_enabled: true }),
    ]);
    const methods = ['initialize', 'tools/list', 'admin/*'];
    const denied = { rules: [{ effect: 'deny', principals: ['user:carl'], methods }] };
    servers.push(mounted('methods', upstream.url, { access: denied }));
    const core = { auth: auth(), allow_artifacts_download: true };
    deployment = await startDeployment({ config: { core, servers } });
    started.use(deployment);
  });
  afterAll(() => started.disposeAsync());

  const bearer = async (claims: JsonObject): Promise<Record<string, string>> => ({
    authorization: `Bearer ${await signed(key, { iss: issuer.url, ...claims })}`,
  });
  const headersOf = async (caller: Caller): Promise<Record<string, string>> => {
    const claims = CALLERS[caller];
    return claims === undefined ? { 'x-mcp-adapter-auth-token': STATIC } : bearer(claims);
  };
  const places = () => [deployment.a, deployment.b];

  describe.each(FAMILIES)('revision %s', (family) => {
    test.each(CASES)('T24: $policy: $caller $may', async ({ policy, caller, may }) => {
      const headers = await headersOf(caller);
      const doors = await openDoors({ family, server: policy, places: places(), headers });
      const coded = await openDoors({ family, server: `${policy}-code`, places: places(), headers });
      expect(await everyDoor(doors, coded, policy)).toEqual(expectedOf(may, policy, family));
      const seen = [...doors.seen, ...coded.seen].join('\n');
      for (const [i, thing] of THINGS.entries()) expect(seen.includes(nonceOf(thing)), thing).toBe(may[i] !== '-');
    });
  });

  /** What each door gives for each of the eight, as the letters of the table. */
  async function everyDoor(doors: Doors, coded: Doors, policy: string): Promise<Record<string, string>> {
    const isSessionless = (await doors.ask('server/discover')).got === 'yes';
    const got: Record<string, string> = {};
    const note = async (door: string, asked: Promise<Got>[]): Promise<void> => {
      got[door] = (await Promise.all(asked)).join(' ');
    };
    const tell = async (method: string, params: JsonObject): Promise<Got> => (await doors.ask(method, params)).got;
    const listed = async (method: string, member: string, by: string): Promise<string> => {
      const { result } = await doors.ask(method);
      return (result[member] as JsonObject[]).map((one) => String(one[by])).join(' ');
    };
    got['tools'] = await listed('tools/list', 'tools', 'name');
    got['resources'] = await listed('resources/list', 'resources', 'uri');
    got['templates'] = await listed('resources/templates/list', 'resourceTemplates', 'uriTemplate');
    got['prompts'] = await listed('prompts/list', 'prompts', 'name');
    await note(
      'call',
      ['read', 'write'].map((name) => tell('tools/call', { name, arguments: {} })),
    );
    await note(
      'read',
      ['public', 'private'].map((part) => tell('resources/read', { uri: `doc://${part}/2` })),
    );
    await note(
      'get',
      ['greet', 'admin'].map((name) => tell('prompts/get', { name, arguments: { who: 'x' } })),
    );
    const complete = (ref: JsonObject, name: string): Promise<Got> =>
      tell('completion/complete', { ref, argument: { name, value: '' } });
    await note(
      'complete prompt',
      ['greet', 'admin'].map((name) => complete({ type: 'ref/prompt', name }, 'who')),
    );
    await note(
      'complete template',
      ['public', 'private'].map((part) => complete({ type: 'ref/resource', uri: `doc://${part}/{id}` }, 'id')),
    );
    await note(
      'subscribe',
      ['public', 'private'].map((part) => {
        const uri = `doc://${part}/1`;
        if (!isSessionless) return tell('resources/subscribe', { uri });
        return tell('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } });
      }),
    );
    got['code'] = await byCode(coded, `${policy}_code`);
    got['search'] = await found(coded, `${policy}_code`);
    got['upload'] = isSessionless
      ? await tell('tools/call', { name: `${policy}_get_upload_url`, arguments: {} })
      : await uploaded(doors, policy);
    got['artifact'] = await tell('resources/read', { uri: `artifact://sessions/${AT_ARTIFACT}` });
    if (!isSessionless) got['download'] = await doors.fetch(`/artifacts/${policy}/${AT_ARTIFACT}`);
    return got;
  }

  async function byCode(coded: Doors, prefix: string): Promise<string> {
    const code = `const got = [];
      for (const tool of ['read', 'write']) {
        try { got.push((await call_tool(tool, {})).text === tool + ' done' ? 'yes' : 'else'); }
        catch (error) { got.push(/scope/.test(error.message) ? 'scope' : /Unknown tool/.test(error.message) ? 'unknown' : error.message); }
      }
      return got.join(' ');`;
    const { result } = await coded.ask('tools/call', { name: `${prefix}_execute`, arguments: { code } });
    return saidBy(result).text;
  }

  async function found(coded: Doors, prefix: string): Promise<string> {
    const { result } = await coded.ask('tools/call', { name: `${prefix}_list_tools`, arguments: {} });
    const { text } = saidBy(result);
    return ['read', 'write', `${prefix}_get_upload_url`]
      .filter((name) => new RegExp(`\\b${name}\\b`).test(text))
      .join(' ');
  }

  async function uploaded(doors: Doors, policy: string): Promise<Got> {
    const body = new FormData();
    body.append('file', new Blob(['x']), 'x.txt');
    return doors.fetch(`/upload/${policy}`, { method: 'POST', body });
  }

  function expectedOf(may: string, policy: string, family: Family): Record<string, unknown> {
    const [read = '', write = '', shared = '', hidden = '', greet = '', admin = '', up = '', down = ''] = may;
    const said = (...letters: string[]): string => letters.map((letter) => SAID[letter]).join(' ');
    const shown = (...of: [letter: string, name: string][]): string =>
      of.flatMap(([letter, name]) => (letter === '-' ? [] : [name])).join(' ');
    const doc = down === '-' ? [] : ['doc://upload_workflow.md'];
    const files = (letter: string): unknown =>
      letter === '-' ? expect.stringMatching(/^(unknown|forbidden)$/) : SAID[letter];
    return {
      tools: shown([read, 'read'], [write, 'write'], [up, `${policy}_get_upload_url`]),
      resources: [shown([shared, 'doc://public/1'], [hidden, 'doc://private/1']), ...doc]
        .filter((one) => one !== '')
        .join(' '),
      templates: shown([shared, 'doc://public/{id}'], [hidden, 'doc://private/{id}']),
      prompts: shown([greet, 'greet'], [admin, 'admin']),
      call: said(read, write),
      read: said(shared, hidden),
      get: said(greet, admin),
      'complete prompt': said(greet, admin),
      'complete template': said(shared, hidden),
      subscribe: said(shared, hidden),
      code: said(read, write),
      search: shown([read, 'read'], [write, 'write'], [up, `${policy}_code_get_upload_url`]),
      upload: files(up),
      artifact: down === 's' ? 'scope' : 'unknown',
      // There is none: who may download is told so.
      ...(family === '2025-11-25' && { download: { '+': 'unknown', '-': 'forbidden', s: 'scope' }[down] }),
    };
  }

  test.each(FAMILIES)('T3: files of one are not there for another, revision %s', async (family) => {
    const open = async (caller: Caller) =>
      openDoors({ family, server: 'open', places: places(), headers: await headersOf(caller) });
    const [anna, bob] = [await open('anna'), await open('bob')];
    const { result } = await anna.ask('tools/call', { name: 'write', arguments: { path: 'mine.txt' } });
    const uri = String(asObject(asObject(result['_meta'])['artifact'])['artifact_uri']);
    expect(uri).toMatch(/^artifact:/);
    expect((await anna.ask('resources/read', { uri })).got).toBe('yes');
    expect((await bob.ask('resources/read', { uri })).got).toBe('unknown');
    const listed = async (doors: Doors): Promise<string> => JSON.stringify((await doors.ask('resources/list')).result);
    expect([await listed(anna), await listed(bob)].map((list) => list.includes(uri))).toEqual([
      family === '2025-11-25',
      false,
    ]);
  });

  test.each([
    ['user:anna', ['--scopes', 'tools', '--claims', '{"groups":["support"]}'], 0],
    ['user:bob', ['--scopes', 'tools,files', '--claims', '{"groups":["admin"]}'], 1],
    ['token:ci', [], 2],
  ] as const)('--explain-access says what %s may do, and why', async (principal, more, column) => {
    const server = (id: string) => mounted(id, upstream.url, { access: POLICIES[id]?.access });
    const config = {
      core: { auth: { enabled: true, token: STATIC } },
      servers: [server('groups'), server('scopes'), mounted('free', upstream.url, { disabled_tools: ['read'] })],
    };
    const args = ['--explain-access', '--principal', principal, ...more];
    const { code, stdout, stderr } = await runAdapter({ config, args });
    expect([code, stderr]).toEqual([0, '']);
    const said = stdout.split('\n').flatMap((line) => {
      const [what = '', says = '', by = ''] = line.trim().split(/ {2,}/);
      return what === 'write' || what === 'read' ? [`${what}: ${says} by ${by}`] : [];
    });
    const free = ['read: denied by disabled_tools', 'write: allowed by no access rules'];
    const step = 'listed; calls need the scope files by rules[0]';
    expect(said).toEqual(
      [
        [
          'read: allowed by rules[1]',
          'write: denied by default',
          'read: allowed by rules[1]',
          `write: ${step}`,
          ...free,
        ],
        ['read', 'write', 'read', 'write'].map((tool) => `${tool}: allowed by rules[0]`).concat(free),
        [
          'read: allowed by rules[1]',
          'write: denied by default',
          'read: allowed by rules[1]',
          'write: denied by default',
          ...free,
        ],
      ][column],
    );
  });

  test('--explain-access says which server does not answer', async () => {
    const config = { servers: [mounted('free', upstream.url), mounted('away', 'http://127.0.0.1:1/mcp')] };
    const { code, stdout, stderr } = await runAdapter({ config, args: ['--explain-access', '--principal', 'user:x'] });
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^mcp-adapter: away: its tools are not known: .*ECONNREFUSED/),
    ]);
    expect(stdout).toMatch(/^ {2}write +allowed +no access rules$/m);
  });

  test('the upstream is asked to do nothing that was refused', async () => {
    upstream.called.length = 0;
    const headers = await headersOf('carl');
    for (const family of FAMILIES) {
      // oxlint-disable-next-line no-await-in-loop -- one family after the other
      const doors = await openDoors({ family, server: 'denials', places: places(), headers });
      // oxlint-disable-next-line no-await-in-loop -- the same
      expect((await doors.ask('tools/call', { name: 'write', arguments: {} })).got).toBe('unknown');
    }
    expect(upstream.called).toEqual([]);
  });

  describe('a tool that changes', () => {
    let pinned: Deployment;
    beforeAll(async () => {
      const access = POLICIES['groups']?.access;
      const servers = ['warn', 'block'].map((mode) =>
        mounted(`pinned-${mode}`, upstream.url, { access, tool_definition_pinning: { mode } }),
      );
      const core = { auth: auth(), upstream_metadata_cache_ttl_seconds: 0 };
      pinned = await startDeployment({ config: { core, servers } });
    });
    afterAll(() => pinned?.close());

    const cases = FAMILIES.flatMap((family) => [
      { family, mode: 'warn', expected: /has changed/ },
      { family, mode: 'block', expected: /^tool_definition_drift$/ },
    ]);
    test.each(cases)(
      'T24: $mode, $family: who must not see it hears nothing of it',
      async ({ family, mode, expected }) => {
        const at = [pinned.a, pinned.b];
        const open = async (caller: Caller) =>
          openDoors({ family, server: `pinned-${mode}`, places: at, headers: await headersOf(caller) });
        const [anna, bob] = [await open('anna'), await open('bob')];
        const listOf = async (doors: Doors): Promise<string> => {
          const { got, result } = await doors.ask('tools/list');
          const own = `pinned_${mode}_get_upload_url`;
          return got === 'yes'
            ? (result['tools'] as JsonObject[])
                .flatMap((tool) => (tool['name'] === own ? [] : [String(tool['description'])]))
                .join('\n')
            : got;
        };
        upstream.say('');
        const before = { anna: await listOf(anna), bob: await listOf(bob) };
        expect(before).toEqual({ anna: nonceOf('read'), bob: `${nonceOf('read')}\n${nonceOf('write')}` });
        upstream.say(' and more');
        try {
          for (const doors of [anna, anna]) {
            // oxlint-disable-next-line no-await-in-loop -- at one replica and the other
            expect(await listOf(doors)).toBe(before.anna);
          }
          expect((await anna.ask('tools/call', { name: 'read', arguments: {} })).got).toBe('yes');
          expect(await listOf(bob)).toMatch(expected);
        } finally {
          upstream.say('');
        }
      },
    );
  });

  test('T3: a task is its caller’s without sessions, where the upstream does not check', async () => {
    let tasks = 0;
    await using raw = await startRawUpstream(({ json }, res) => {
      const { id, method, params } = asObject(json);
      const results: Record<string, () => JsonObject> = {
        'server/discover': () => ({
          supportedVersions: [FAMILIES[1]],
          capabilities: { tools: {} },
          resultType: 'complete',
        }),
        'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }], resultType: 'complete' }),
        'tools/call': () => ({ resultType: 'task', taskId: `task-${(tasks += 1)}`, status: 'working' }),
      };
      const result = results[String(method)]?.() ?? {
        resultType: 'complete',
        said: `secret of ${String(asObject(params).taskId)}`,
      };
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }));
    });
    await using own = await startDeployment({
      config: { core: { auth: auth() }, servers: [mounted('tasks', `${raw.url}/mcp`)] },
    });
    const open = async (caller: Caller, more: JsonObject = {}) => {
      const headers = await bearer({ ...CALLERS[caller], ...more });
      return openDoors({ family: FAMILIES[1], server: 'tasks', places: [own.a, own.b], headers });
    };
    const [anna, bob] = [await open('anna'), await open('bob')];
    const { result } = await anna.ask('tools/call', { name: 'work', arguments: {} });
    const taskId = String(result['taskId']);
    for (const doors of [anna, anna, await open('anna', { jti: 'another token' })]) {
      // oxlint-disable-next-line no-await-in-loop -- at one replica and the other
      expect((await doors.ask('tasks/get', { taskId })).result['said']).toBe(`secret of ${taskId}`);
    }
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel', 'tasks/get']) {
      // oxlint-disable-next-line no-await-in-loop -- at one replica and the other
      expect((await bob.ask(method, { taskId })).got).toBe('unknown');
    }
    expect((await bob.ask('subscriptions/listen', { notifications: { taskIds: [taskId] } })).got).toBe('unknown');
    expect(bob.seen.join()).not.toContain('secret');
  });

  test.each([
    ['open', true],
    ['order', false],
  ])('policy %s: a URL for the download comes with what a tool made: %s', async (server, comes) => {
    const headers = await headersOf('anna');
    const doors = await openDoors({ family: '2025-11-25', server, places: places(), headers });
    const { result } = await doors.ask('tools/call', { name: 'write', arguments: { path: 'mine.txt' } });
    const artifact = asObject(asObject(result['_meta'])['artifact']);
    expect('download_url' in artifact).toBe(comes);
    expect(JSON.stringify(result).includes('/artifacts/')).toBe(comes);
  });

  test('T24: each call of a batch is decided by itself', async () => {
    const options = { path: '/mcp/scopes', headers: await headersOf('anna'), protocolVersion: '2025-03-26' };
    const session = await openSession(deployment.a, options);
    const calls = ['write', 'read', 'none'].map((name, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: {} },
    }));
    const answers: JsonObject[] = [];
    for await (const { data } of readEvents(await session.at(deployment.b).send(calls))) {
      answers.push(JSON.parse(data) as JsonObject);
    }
    const said = new Map(answers.map(({ id, error }) => [id, asObject(asObject(error).data).code]));
    expect([0, 1, 2].map((id) => said.get(id))).toEqual(['insufficient_scope', undefined, 'insufficient_scope']);
  });

  test.each(['tools/list', 'admin/reset'])('%s is refused by a rule that names it', async (method) => {
    const options = { family: FAMILIES[1], server: 'methods', places: places() };
    const [carl, bob] = [
      await openDoors({ ...options, headers: await headersOf('carl') }),
      await openDoors({ ...options, headers: await headersOf('bob') }),
    ];
    expect((await carl.ask(method)).got).toBe('forbidden');
    expect((await bob.ask(method)).got).not.toBe('forbidden');
    expect((await carl.ask('prompts/list')).got).toBe('yes');
  });

  test('sessions are refused by a rule that names initialize', async () => {
    const answerTo = async (caller: Caller): Promise<Response> =>
      initialize(deployment.a, { path: '/mcp/methods', headers: await headersOf(caller) });
    const refused = await answerTo('carl');
    expect([refused.status, await refused.json()]).toMatchObject([403, { error: { data: { code: 'forbidden' } } }]);
    expect(refused.headers.get('mcp-session-id')).toBeNull();
    expect(await drain(answerTo('bob'))).toBe(200);
  });

  test('T15: a session shows what its caller may see now', async () => {
    const [{ family }, server] = [{ family: FAMILIES[0] }, 'groups'];
    const doors = await openDoors({ family, server, places: places(), headers: await headersOf('carl') });
    const names = async (of: Doors): Promise<string> =>
      ((await of.ask('tools/list')).result['tools'] as JsonObject[]).map((tool) => String(tool['name'])).join(' ');
    const promoted = doors.as(await bearer({ ...CALLERS.carl, groups: ['admin'] }));
    for (const replica of [0, 1]) {
      // oxlint-disable no-await-in-loop -- one after the other: each may have kept the other's list
      expect(await names(doors), String(replica)).toBe('read');
      expect(await names(promoted)).toBe('read write groups_get_upload_url');
      // oxlint-enable no-await-in-loop
    }
  });

  test('the mount says which scopes there are', async () => {
    const answer = await fetch(`${deployment.a.url}/.well-known/oauth-protected-resource/mcp/scopes`);
    expect(asObject(await answer.json()).scopes_supported).toEqual(['tools', 'files']);
  });
});
