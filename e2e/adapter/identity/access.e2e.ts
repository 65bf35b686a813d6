import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AUDIENCE, type SampleKey, sampleKey, signed } from '../../../adapter/identity/testing/sample-issuer.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { saidBy } from '../code-mode/kit/code.ts';
import { type Deployment, mounted, startDeployment } from '../kit/deployment.ts';
import { type Doors, FAMILIES, type Family, type Got, openDoors } from './kit/doors.ts';
import { startGuardedServer } from './kit/guarded-server.ts';
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

const AT_ARTIFACT = `${'0'.repeat(32)}/${'1'.repeat(32)}/a.txt`;
const SAID: Record<string, Got> = { '+': 'yes', '-': 'unknown', s: 'scope' };

describe('who may do what, at two replicas', { timeout: 60_000 }, () => {
  const started = new AsyncDisposableStack();
  let key: SampleKey;
  let issuer: RunningIssuer;
  let upstream: Awaited<ReturnType<typeof startGuardedServer>>;
  let deployment: Deployment;

  beforeAll(async () => {
    key = await sampleKey('first');
    issuer = started.use(await startIssuer(key));
    upstream = started.use(await startGuardedServer());
    const oauth = { issuer: issuer.url, jwks_uri: `${issuer.url}/keys`, audiences: [AUDIENCE], scopes: ['tools'] };
    const auth = { enabled: true, tokens: [{ name: 'ci', token: STATIC }], oauth };
    const adapters = [{ type: 'artifact_producer', tools: ['write'], output_path_argument: 'path' }];
    const servers = Object.entries(POLICIES).flatMap(([policy, { access }]) => [
      mounted(policy, upstream.url, { access, adapters }),
      mounted(`${policy}-code`, upstream.url, { access, code_mode_enabled: true }),
    ]);
    const core = { auth, allow_artifacts_download: true };
    deployment = await startDeployment({ config: { core, servers } });
    started.use(deployment);
  });
  afterAll(() => started.disposeAsync());

  const headersOf = async (caller: Caller): Promise<Record<string, string>> => {
    const claims = CALLERS[caller];
    if (claims === undefined) return { 'x-mcp-adapter-auth-token': STATIC };
    return { authorization: `Bearer ${await signed(key, { iss: issuer.url, ...claims })}` };
  };
  const places = () => [deployment.a, deployment.b];

  describe.each(FAMILIES)('revision %s', (family) => {
    test.each(CASES)('$policy: $caller $may', async ({ policy, caller, may }) => {
      const headers = await headersOf(caller);
      const doors = await openDoors({ family, server: policy, places: places(), headers });
      const coded = await openDoors({ family, server: `${policy}-code`, places: places(), headers });
      expect(await everyDoor(doors, coded, policy)).toEqual(expectedOf(may, policy, family));
    });
  });

  /** What each door gives for each of the eight, as the letters of the table. */
  async function everyDoor(doors: Doors, coded: Doors, policy: string): Promise<Record<string, string>> {
    const isModern = (await doors.ask('server/discover')).got === 'yes';
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
        if (!isModern) return tell('resources/subscribe', { uri });
        return tell('subscriptions/listen', { notifications: { resourceSubscriptions: [uri] } });
      }),
    );
    got['code'] = await byCode(coded, `${policy}_code`);
    got['search'] = await found(coded, `${policy}_code`);
    got['upload'] = isModern
      ? await tell('tools/call', { name: `${policy}_get_upload_url`, arguments: {} })
      : await uploaded(doors, policy);
    got['artifact'] = await tell('resources/read', { uri: `artifact://sessions/${AT_ARTIFACT}` });
    if (!isModern) got['download'] = await doors.fetch(`/artifacts/${policy}/${AT_ARTIFACT}`);
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

  test('the mount says which scopes there are', async () => {
    const answer = await fetch(`${deployment.a.url}/.well-known/oauth-protected-resource/mcp/scopes`);
    expect(asObject(await answer.json()).scopes_supported).toEqual(['tools', 'files']);
  });
});
