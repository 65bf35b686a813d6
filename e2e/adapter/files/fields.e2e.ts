import { mkdtemp, readFile, rm, stat, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { AdapterConfig } from '../../../crds/config/adapter.ts';
import { leaves } from '../../../crds/config/testing/schema-leaves.ts';
import { inputSchema } from '../../../crds/generate/json-schema.ts';
import { contentOf } from '../../support/file-tools.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../kit/eventually.ts';
import { textOf } from '../kit/session.ts';
import { artifactError, artifactOf, readResource, resourceUris } from './kit/artifacts.ts';
import { leaveOrphan } from './kit/folder.ts';
import { startHalfUpload } from './kit/half-upload.ts';
import { formFile, upload, uploadedOne } from './kit/uploads.ts';
import { type Scene, type SceneOptions, Scenes } from './kit/with-adapter.ts';

/** Fields whose effect another test shows: file → title. */
const ELSEWHERE: Record<string, readonly [file: string, title: string]> = {};

const SECTIONS = /^(storage|uploads|artifacts|servers\[0\]\.adapters\[\d\])\./;
const CONSUMER = 'servers[0].adapters[0]';
const PRODUCER = 'servers[0].adapters[1]';

const shown = new Set<string>();
let scenes: Scenes;
beforeAll(async () => {
  scenes = await Scenes.open();
});
afterAll(() => scenes?.[Symbol.asyncDispose]());
afterEach(() => void vi.useRealTimers());

/** A test of what one field changes: first with one value of it, then with another. */
function field(path: string, ...cases: readonly (readonly [SceneOptions, (scene: Scene) => Promise<void>])[]): void {
  shown.add(path);
  test(path, async () => {
    for (const [options, play] of cases) await scenes.play(options, play);
  });
}

/** Moves the clock of the adapter, which runs in this process. Timers go on as they are. */
function later(seconds: number): void {
  const now = Date.now();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(now + seconds * 1_000);
}

const producer = (more: JsonObject): readonly JsonObject[] => [
  {
    type: 'artifact_producer',
    tools: ['write_file', 'write_elsewhere', 'embed', 'name_path', 'write_nothing'],
    ...more,
  },
];
const consumer = (more: JsonObject): readonly JsonObject[] => [
  { type: 'upload_consumer', tools: ['read_file'], file_path_argument: 'path', ...more },
];
const injected = producer({ output_path_argument: 'output_path' });
const write = (door: Scene['door'], size = 1_000, name = 'out.bin'): Promise<JsonObject> =>
  door.tool('write_file', { output_path: name, size });
const pathsSeen = (message: JsonObject): unknown[] =>
  (asObject(asObject(message.result).structuredContent).files as JsonObject[]).map(({ path }) => path);
const isFailed = (message: JsonObject): boolean => asObject(message.result).isError === true;

describe('storage', () => {
  field('storage.root', [
    {},
    async ({ root, session, adapter, door }) => {
      const { id } = await uploadedOne(adapter, session.sessionId, 'a');
      await stat(join(root, 'uploads/sessions', session.sessionId, id, 'a'));
      const artifact = artifactOf(await write(door));
      await stat(join(root, 'artifacts/sessions', session.sessionId, artifact.id, 'out.bin'));
    },
  ]);

  const sizes = async ({ adapter, session }: Scene): Promise<unknown[]> => [
    (await upload(adapter, session.sessionId, [formFile('a', 600)])).status,
    (await upload(adapter, session.sessionId, [formFile('b', 600)])).status,
  ];
  field(
    'storage.max_size',
    [{ config: { storage: { max_size: 1_000 } } }, async (scene) => expect(await sizes(scene)).toEqual([200, 507])],
    [{ config: { storage: { max_size: null } } }, async (scene) => expect(await sizes(scene)).toEqual([200, 200])],
  );

  const nameWhileItArrives = async ({ root, adapter, session, lying }: Scene): Promise<string> => {
    const slow = startHalfUpload(adapter, session.sessionId, 200_000);
    await slow.begun(root);
    const [first] = await lying();
    expect(await slow.finish()).toMatchObject([200, {}]);
    return basename(first?.path ?? '');
  };
  field(
    'storage.atomic_writes',
    [{}, async (scene) => expect(await nameWhileItArrives(scene)).toMatch(/^\.slow\.bin\..+\.tmp$/)],
    [
      { config: { storage: { atomic_writes: false } } },
      async (scene) => expect(await nameWhileItArrives(scene)).toBe('slow.bin'),
    ],
  );

  const modes = async ({ root, adapter, session }: Scene): Promise<string[]> => {
    const { id } = await uploadedOne(adapter, session.sessionId, 'a');
    const path = join(root, 'uploads/sessions', session.sessionId, id, 'a');
    return await Promise.all([dirname(path), path].map(async (one) => ((await stat(one)).mode & 0o777).toString(8)));
  };
  field(
    'storage.access',
    [{}, async (scene) => expect(await modes(scene)).toEqual(['770', '660'])],
    [{ config: { storage: { access: 'owner' } } }, async (scene) => expect(await modes(scene)).toEqual(['700', '600'])],
    [{ config: { storage: { access: 'all' } } }, async (scene) => expect(await modes(scene)).toEqual(['777', '666'])],
  );

  /** Resolves when the cleanup has gone round: an old orphan, or an upload without time to live, is gone, twice. */
  async function cleanups({ adapter, session, lying }: Scene): Promise<void> {
    for (let pass = 0; pass < 2; pass += 1) {
      const { id } = await uploadedOne(adapter, session.sessionId, 'short');
      await eventually(async () => (await lying()).some(({ path }) => path.includes(id)), 20).toBe(false);
    }
  }
  const cleaning = { core: { cleanup_interval_seconds: 0.02 }, uploads: { ttl_seconds: 0.001 } };
  const hexId = (): string => randomUUID().replaceAll('-', '');
  field(
    'storage.orphan_sweeper_enabled',
    [
      { config: cleaning },
      async (scene) => {
        const orphan = await leaveOrphan(scene.root, 'artifact', hexId(), hexId());
        await eventually(() => stat(orphan).then(Boolean, () => false), 20).toBe(false);
      },
    ],
    [
      { config: { ...cleaning, storage: { orphan_sweeper_enabled: false } } },
      async (scene) => {
        const orphan = await leaveOrphan(scene.root, 'artifact', hexId(), hexId());
        await cleanups(scene);
        await stat(orphan);
      },
    ],
  );
  field('storage.orphan_sweeper_grace_seconds', [
    { config: { ...cleaning, storage: { orphan_sweeper_grace_seconds: 600 } } },
    async ({ root }) => {
      const old = await leaveOrphan(root, 'artifact', hexId(), hexId());
      const young = await leaveOrphan(root, 'artifact', hexId(), hexId());
      const now = new Date();
      await utimes(young, now, now);
      await eventually(() => stat(old).then(Boolean, () => false), 20).toBe(false);
      await stat(young);
    },
  ]);

  const structured = producer({ output_locator: { mode: 'structured', output_path_key: 'file.path' } });
  const elsewhere = async ({ door }: Scene): Promise<JsonObject> => {
    const folder = await mkdtemp(join(tmpdir(), 'extra-root-'));
    try {
      return await door.tool('write_elsewhere', { at: join(folder, 'made.bin') });
    } finally {
      await rm(folder, { recursive: true });
    }
  };
  const roots = { artifact_locator_policy: 'allow_configured_roots', artifact_locator_allowed_roots: [tmpdir()] };
  field(
    'storage.artifact_locator_policy',
    [
      { entries: structured, config: { storage: { ...roots, artifact_locator_policy: 'storage_only' } } },
      async (scene) =>
        expect(artifactError(await elsewhere(scene))).toMatchObject({ code: expect.any(String) as string }),
    ],
    [
      { entries: structured, config: { storage: roots } },
      async (scene) => expect(artifactOf(await elsewhere(scene))).toMatchObject({ filename: 'made.bin', size: 1_000 }),
    ],
  );
  field('storage.artifact_locator_allowed_roots', [
    { entries: structured, config: { storage: { ...roots, artifact_locator_allowed_roots: ['/usr'] } } },
    async (scene) =>
      expect(artifactError(await elsewhere(scene))).toMatchObject({ code: expect.any(String) as string }),
  ]);
});

describe('uploads', () => {
  const status = async ({ adapter, session }: Scene, size = 1_000): Promise<number> =>
    (await upload(adapter, session.sessionId, [formFile('a', size)])).status;

  field(
    'uploads.enabled',
    [{ config: { uploads: { enabled: false } } }, async (scene) => expect(await status(scene)).toBe(400)],
    [{}, async (scene) => expect(await status(scene)).toBe(200)],
  );
  field('uploads.max_file_bytes', [
    { config: { uploads: { max_file_bytes: '1Ki' } } },
    async (scene) => expect([await status(scene, 1_024), await status(scene, 1_025)]).toEqual([200, 413]),
  ]);

  const readAfter = async ({ adapter, session, door }: Scene, seconds: readonly number[]): Promise<boolean[]> => {
    const { handle } = await uploadedOne(adapter, session.sessionId, 'a');
    const read: boolean[] = [];
    for (const wait of seconds) {
      later(wait);
      read.push(!isFailed(await door.tool('read_file', { path: handle })));
    }
    return read;
  };
  field(
    'uploads.ttl_seconds',
    // Each use begins it anew.
    [{}, async (scene) => expect(await readAfter(scene, [100, 100, 130])).toEqual([true, true, false])],
    [
      { config: { uploads: { ttl_seconds: 1_000 } } },
      async (scene) => expect(await readAfter(scene, [990, 1_010])).toEqual([true, false]),
    ],
    [
      { config: { uploads: { ttl_seconds: null } } },
      async (scene) => expect(await readAfter(scene, [1_000_000])).toEqual([true]),
    ],
  );
  field(
    'uploads.require_sha256',
    [{ config: { uploads: { require_sha256: true } } }, async (scene) => expect(await status(scene)).toBe(400)],
    [{}, async (scene) => expect(await status(scene)).toBe(200)],
  );
  const scheme = { config: { uploads: { uri_scheme: 'files://' } }, entries: consumer({ uri_scheme: 'files://' }) };
  const schemed = async ({ adapter, session, door }: Scene): Promise<void> => {
    const { handle, id } = await uploadedOne(adapter, session.sessionId, 'a');
    expect(handle).toBe(`files://sessions/${session.sessionId}/${id}`);
    expect(isFailed(await door.tool('read_file', { path: handle }))).toBe(false);
    expect(isFailed(await door.tool('read_file', { path: handle.replace('files', 'upload') }))).toBe(true);
  };
  field('uploads.uri_scheme', [scheme, schemed]);
  field(`${CONSUMER}.uri_scheme`, [scheme, schemed]);
});

describe('artifacts', () => {
  field('artifacts.enabled', [
    { config: { artifacts: { enabled: false } }, entries: injected },
    async ({ root, door, lying, session }) => {
      const path = join(root, 'its-own.bin');
      const message = await door.tool('write_file', { output_path: path, seed: 'own' });
      expect(asObject(message.result)._meta).toBeUndefined();
      expect((await readFile(path)).equals(contentOf('own', 1_000))).toBe(true);
      expect(await lying()).toEqual([]);
      expect(asObject(session.initialized.capabilities).resources).toBeUndefined();
    },
  ]);

  const readAfter = async ({ door }: Scene, seconds: readonly number[]): Promise<boolean[]> => {
    const { uri } = artifactOf(await write(door));
    const read: boolean[] = [];
    for (const wait of seconds) {
      later(wait);
      read.push((await readResource(door, uri)) !== undefined);
    }
    return read;
  };
  field(
    'artifacts.ttl_seconds',
    [{}, async (scene) => expect(await readAfter(scene, [590, 590, 610])).toEqual([true, true, false])],
    [
      { config: { artifacts: { ttl_seconds: 10 } } },
      async (scene) => expect(await readAfter(scene, [9, 11])).toEqual([true, false]),
    ],
    [
      { config: { artifacts: { ttl_seconds: null } } },
      async (scene) => expect(await readAfter(scene, [1_000_000])).toEqual([true]),
    ],
  );
  field('artifacts.max_per_session', [
    { config: { artifacts: { max_per_session: 1 } } },
    async ({ door, lying }) => {
      artifactOf(await write(door));
      const second = await write(door);
      expect(isFailed(second)).toBe(true);
      expect(await lying()).toHaveLength(1);
    },
  ]);
  field(
    'artifacts.expose_as_resources',
    [
      {},
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).toContain(uri);
        expect(await readResource(door, uri)).toBeDefined();
      },
    ],
    [
      { config: { artifacts: { expose_as_resources: false } } },
      async ({ door }) => {
        const { uri } = artifactOf(await write(door));
        expect(await resourceUris(door)).not.toContain(uri);
        expect(await readResource(door, uri)).toBeUndefined();
      },
    ],
  );
  field('artifacts.uri_scheme', [
    { config: { artifacts: { uri_scheme: 'made://' } } },
    async ({ door, session }) => {
      const { uri, id } = artifactOf(await write(door));
      expect(uri).toBe(`made://sessions/${session.sessionId}/${id}/out.bin`);
      expect((await readResource(door, uri))?.length).toBe(1_000);
    },
  ]);
});

describe('entries of type upload_consumer', () => {
  const give = async ({ adapter, session, door }: Scene, tool: string, args: (handle: string) => JsonObject) =>
    await door.tool(tool, args((await uploadedOne(adapter, session.sessionId, 'a.bin')).handle));
  const place = (scene: Scene): string => join(scene.root, 'uploads/sessions', scene.session.sessionId);

  for (const name of ['type', 'tools']) {
    field(`${CONSUMER}.${name}`, [
      { entries: consumer({}) },
      async (scene) => {
        const taken = await give(scene, 'read_file', (path) => ({ path }));
        expect(pathsSeen(taken)).toEqual([expect.stringMatching(new RegExp(`^${place(scene)}/[0-9a-f]{32}/a.bin$`))]);
        // A tool that no entry names gets what the client has written.
        expect(textOf(await give(scene, 'read_maybe', (path) => ({ path })))).toContain("open 'upload://");
      },
    ]);
  }
  field(`${CONSUMER}.file_path_argument`, [
    {
      entries: [
        { type: 'upload_consumer', tools: ['read_nested'], file_path_argument: 'a.files.path' },
        { type: 'upload_consumer', tools: ['read_many'], file_path_argument: 'paths' },
      ],
    },
    async (scene) => {
      const path = expect.stringMatching(new RegExp(`^${place(scene)}/[0-9a-f]{32}/a.bin$`)) as string;
      const nested = (handle: string) => ({ a: { files: [{ path: handle }, { path: handle }] } });
      expect(pathsSeen(await give(scene, 'read_nested', nested))).toEqual([path, path]);
      expect(pathsSeen(await give(scene, 'read_many', (handle) => ({ paths: handle })))).toEqual([path]);
      expect(pathsSeen(await give(scene, 'read_many', (handle) => ({ paths: [handle, handle] })))).toEqual([
        path,
        path,
      ]);
    },
  ]);
  for (const [name, uri, none] of [
    ['uri_prefix', { uri_prefix: true }, { uri_prefix: false }],
    ['pass_as', { pass_as: 'file_uri' }, { pass_as: 'path', uri_prefix: true }],
  ] as const) {
    const entry = (more: JsonObject) => [
      { type: 'upload_consumer', tools: ['read_uri'], file_path_argument: 'uri', ...more },
    ];
    field(
      `${CONSUMER}.${name}`,
      [
        { entries: entry(uri) },
        async (scene) => {
          const message = await give(scene, 'read_uri', (handle) => ({ uri: handle }));
          expect(pathsSeen(message)).toEqual([expect.stringContaining(pathToFileURL(place(scene)).href) as string]);
        },
      ],
      [
        { entries: entry(none) },
        async (scene) => {
          const message = await give(scene, 'read_uri', (handle) => ({ uri: handle }));
          expect(isFailed(message)).toBe(true);
        },
      ],
    );
  }

  const held = async ({ adapter, session, door, tools }: Scene): Promise<void> => {
    const { handle } = await uploadedOne(adapter, session.sessionId, 'a');
    const hold = randomUUID();
    const message = await door.tool('read_file', { path: handle, hold });
    expect(isFailed(message)).toBe(true);
    expect(textOf(message)).toMatch(/time|0\.3/);
    await tools.open(hold);
  };
  field(`${CONSUMER}.overrides.tool_call_timeout_seconds`, [
    { entries: consumer({ overrides: { tool_call_timeout_seconds: 0.3 } }) },
    held,
  ]);
  field(`${CONSUMER}.overrides.allow_raw_output`, [
    // The schema takes it for every entry; only tools that make files have something to give out.
    { entries: consumer({ overrides: { allow_raw_output: true } }) },
    async (scene) => {
      const message = await give(scene, 'read_file', (path) => ({ path }));
      expect(asObject(message.result).content).toHaveLength(1);
    },
  ]);
});

describe('entries of type artifact_producer', () => {
  const blocks = (message: JsonObject): JsonObject[] => asObject(message.result).content as JsonObject[];
  const hasBytes = (message: JsonObject): boolean =>
    blocks(message).some(({ type, resource }) => type === 'resource' && typeof asObject(resource).blob === 'string');

  for (const name of ['type', 'tools', 'output_path_argument']) {
    field(`${PRODUCER}.${name}`, [
      { entries: injected },
      async ({ door, root }) => {
        expect(artifactOf(await write(door, 7))).toMatchObject({ filename: 'out.bin', size: 7 });
        const path = join(root, 'text.txt');
        const untouched = await door.tool('write_text', { output_path: path, text: 'as it was' });
        expect(asObject(untouched.result)._meta).toBeUndefined();
        expect(await readFile(path, 'utf8')).toBe('as it was');
      },
    ]);
  }

  const own = async ({ root, session, door, adapter }: Scene, says: string): Promise<JsonObject> => {
    // A folder of this session, where a tool may write.
    const { id } = await uploadedOne(adapter, session.sessionId, 'a');
    const at = join(root, 'uploads/sessions', session.sessionId, id, 'made.bin');
    return await door.tool('write_elsewhere', { at, says });
  };
  const located = (mode: string, more: JsonObject = {}) => producer({ output_locator: { mode, ...more } });
  const made = { filename: 'made.bin', size: 1_000 };
  field(
    `${PRODUCER}.output_locator.mode`,
    [
      { entries: located('structured', { output_path_key: 'file.path' }) },
      async (scene) => expect(artifactOf(await own(scene, 'structured'))).toMatchObject(made),
    ],
    [{ entries: located('regex') }, async (scene) => expect(artifactOf(await own(scene, 'text'))).toMatchObject(made)],
    [
      { entries: located('embedded') },
      async ({ door }) => expect(artifactOf(await door.tool('embed', { as: 'image' }))).toMatchObject({ size: 1_000 }),
    ],
    [
      { entries: located('none') },
      async (scene) => {
        for (const says of ['structured', 'text']) {
          expect(asObject((await own(scene, says)).result)._meta).toBeUndefined();
        }
        expect(asObject((await scene.door.tool('embed', { as: 'image' })).result)._meta).toBeUndefined();
      },
    ],
  );
  field(`${PRODUCER}.output_locator.output_path_key`, [
    { entries: located('structured', { output_path_key: 'somewhere.else' }) },
    async (scene) => expect(artifactError(await own(scene, 'structured'))).toBeDefined(),
  ]);
  field(
    `${PRODUCER}.output_locator.output_path_regexes`,
    [
      { entries: located('regex', { output_path_regexes: ['^no (.*)$', 'Saved the file to "(.*)"'] }) },
      async (scene) => expect(artifactOf(await own(scene, 'text'))).toMatchObject(made),
    ],
    [
      { entries: located('regex', { output_path_regexes: ['^no (.*)$'] }) },
      async (scene) => expect(artifactError(await own(scene, 'text'))).toBeDefined(),
    ],
  );
  field(`${PRODUCER}.persist`, [
    { entries: producer({ output_path_argument: 'output_path', persist: false }) },
    async ({ door, root, lying }) => {
      const path = join(root, 'kept.bin');
      const message = await door.tool('write_file', { output_path: path });
      expect(asObject(message.result)._meta).toBeUndefined();
      expect(await lying()).toEqual([]);
    },
  ]);
  field(`${PRODUCER}.expose_as_resource`, [
    { entries: producer({ output_path_argument: 'output_path', expose_as_resource: false }) },
    async ({ door }) => {
      const { uri } = artifactOf(await write(door));
      expect(await resourceUris(door)).not.toContain(uri);
      expect(await readResource(door, uri)).toBeUndefined();
    },
  ]);
  for (const [name, on] of [
    ['allow_raw_output', { allow_raw_output: true, overrides: { allow_raw_output: false } }],
    ['include_raw_output', { include_raw_output: true }],
    ['overrides.allow_raw_output', { overrides: { allow_raw_output: true } }],
  ] as const) {
    field(
      `${PRODUCER}.${name}`,
      [
        { entries: producer({ output_path_argument: 'output_path', ...on }) },
        async ({ door }) => {
          const message = await write(door);
          artifactOf(message);
          expect(hasBytes(message)).toBe(true);
        },
      ],
      [{ entries: injected }, async ({ door }) => expect(hasBytes(await write(door))).toBe(false)],
    );
  }
  field(`${PRODUCER}.overrides.tool_call_timeout_seconds`, [
    { entries: producer({ output_path_argument: 'output_path', overrides: { tool_call_timeout_seconds: 0.3 } }) },
    async ({ door, tools }) => {
      const hold = randomUUID();
      const message = await door.tool('write_file', { output_path: 'late.bin', hold });
      expect(isFailed(message)).toBe(true);
      await tools.open(hold);
    },
  ]);
});

test('every field about files has a test', async () => {
  const all = leaves(inputSchema(AdapterConfig)).map(({ path }) => path);
  const about = all.filter((path) => SECTIONS.test(path));
  expect([...shown, ...Object.keys(ELSEWHERE)].toSorted()).toEqual(about.toSorted());
  for (const [file, title] of Object.values(ELSEWHERE)) {
    expect([file, await readFile(join(import.meta.dirname, '../../..', file), 'utf8')]).toEqual([
      file,
      expect.stringContaining(title),
    ]);
  }
});
