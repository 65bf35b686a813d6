import { describe, expect, it } from 'vitest';
import { loadScraperConfig } from '../../../crds/config/load/load.ts';
import type { ApiScrapeSource } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { STATE_FOLDER } from './defaults.ts';
import { type Group, type GroupContext, groupOf } from './group.ts';
import { runningFrom } from './running.ts';
import { ALL_PERMISSIONS } from '../../validation/permissions.ts';
import { preparing } from './prepare.ts';
import { renderFile } from './scraper-file.ts';
import { podFields, scraperSection } from './settings.ts';
import { ENDPOINT, first, source } from '../testing/sources.ts';

const nothing: GroupContext = {
  otlpEndpoint: undefined,
  running: () => undefined,
  prepare: preparing(ALL_PERMISSIONS),
};

const group = (...sources: ApiScrapeSource[]): Group => groupOf(sources, nothing);
const members = ({ members }: Group): string[] => members.map(({ resource }) => resource);
const refusals = ({ refusals }: Group): string[] =>
  [...refusals].map(([name, { reason, message }]) => `${name}: ${reason}: ${message}`);

/** What the pods of a group run, as it would be read back from its live objects. */
function running(group: Group): GroupContext['running'] {
  const text = renderFile(
    scraperSection(group.settings),
    group.members.map(({ text }) => text),
  );
  const container = {
    name: 'scraper',
    env: group.members.flatMap(({ env }) => env),
    envFrom: group.members.flatMap(({ envFrom }) => envFrom),
  };
  const metadata = { name: 'scraper-default' };
  return () =>
    runningFrom([
      {
        configMap: { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'config.yaml': text } },
        deployment: {
          apiVersion: 'apps/v1',
          kind: 'Deployment',
          metadata,
          spec: { template: { spec: { containers: [container] } } },
        },
      },
    ]);
}

describe('a group', () => {
  it('runs all its sources, oldest first and by name at the same age', () => {
    const all = [source('c', {}, 1), source('b', {}, 2), source('a', {}, 2), first('z')];
    expect(members(group(...all))).toEqual(['z', 'c', 'a', 'b']);
    expect(members(group(...all.toReversed()))).toEqual(['z', 'c', 'a', 'b']);
  });

  it('has the settings of all its sources, field by field', () => {
    const made = group(
      first('a', { scraper: { fingerprintStore: { backend: 'valkey' } }, env: [{ name: 'P', value: 'x' }] }),
      source(
        'b',
        {
          scraper: { logLevel: 'info', fingerprintStore: { valkey: { host: 'valkey', password: '${P}' } } },
          env: [{ name: 'P', value: 'y' }],
          replicas: 2,
          image: 'registry.example/x:1',
        },
        -1,
      ),
    );
    expect(refusals(made)).toEqual([]);
    expect(scraperSection(made.settings)).toEqual({
      otelCollectorEndpoint: ENDPOINT,
      fingerprintStore: { backend: 'valkey', valkey: { host: 'valkey', password: '${B__P}' } },
      logLevel: 'info',
    });
    expect(podFields(made.settings).replicas).toBe(2);
    expect(podFields(made.settings).image).toBe('registry.example/x:1');
  });

  describe('with an admin secret', () => {
    const env = [
      { name: 'TOKEN', value: 'x' },
      { name: 'NAME', value: 'TOKEN' },
      { name: 'END', value: 'KEN' },
    ];

    it.each([
      ['TOKEN', 'A__TOKEN'],
      [' TOKEN ', 'A__TOKEN'],
      ['${NAME}', 'A__${A__NAME}'],
      ['TO${END}', 'A__TO${A__END}'],
      ['${NONE:-TOKEN}', 'A__${A__NONE:-TOKEN}'],
    ])('named %j finds its variable under the name that it has in the pod', (adminSecretEnv, expected) => {
      const made = group(first('a', { scraper: { enableAdminApi: true, adminSecretEnv }, env }));
      expect(refusals(made)).toEqual([]);
      const scraper = scraperSection(made.settings);
      expect(scraper['adminSecretEnv']).toBe(expected);
      const pod = Object.fromEntries((made.members[0]?.env ?? []).map(({ name, value }) => [name, value]));
      // The loader refuses a name whose variable is not set.
      const text = renderFile(
        scraper,
        made.members.map((member) => member.text),
      );
      expect(loadScraperConfig(text, pod).scraper.adminSecretEnv).toBe('A__TOKEN');
    });

    it.each(['', '  '])('named %j has none', (adminSecretEnv) => {
      const made = group(first('a', { scraper: { adminSecretEnv } }));
      expect(refusals(made)).toEqual([]);
      const text = renderFile(
        scraperSection(made.settings),
        made.members.map((member) => member.text),
      );
      expect(loadScraperConfig(text, {}).scraper.adminSecretEnv).toBeNull();
    });

    it('agrees only on one variable, whatever it is called', () => {
      const from = (name: string, key: string) => ({ name, valueFrom: { secretKeyRef: { name: 's', key } } });
      const wants = (adminSecretEnv: string, ...variables: object[]) => ({
        scraper: { enableAdminApi: true, adminSecretEnv },
        env: variables as { name: string }[],
      });
      expect(
        refusals(group(first('a', wants('ONE', from('ONE', 'k'))), source('b', wants('TWO', from('TWO', 'k'))))),
      ).toEqual([]);
      expect(
        refusals(group(first('a', wants('ONE', from('ONE', 'k'))), source('b', wants('ONE', from('ONE', 'other'))))),
      ).toEqual([expect.stringContaining('b: GroupConflict')]);
      const name = { name: 'NAME', value: 'ONE' };
      expect(
        refusals(
          group(
            first('a', wants('${NAME}', name, from('ONE', 'k'))),
            source('b', wants('${NAME}', name, from('ONE', 'other'))),
          ),
        ),
      ).toEqual([expect.stringContaining('b: GroupConflict')]);
    });
  });

  it('is paused while one of its sources is', () => {
    expect(group(first('a'), source('b', { paused: true }), source('c', { paused: false })).pausedBy).toEqual(['b']);
  });

  it('takes the endpoint of the operator when no source has one', () => {
    const made = groupOf([source('a')], { ...nothing, otlpEndpoint: 'http://default:4317' });
    expect(members(made)).toEqual(['a']);
    expect(scraperSection(made.settings)).toEqual({ otelCollectorEndpoint: 'http://default:4317' });
    expect(scraperSection(groupOf([first('a')], { ...nothing, otlpEndpoint: 'http://default:4317' }).settings)).toEqual(
      {
        otelCollectorEndpoint: ENDPOINT,
      },
    );
  });
});

describe('a source that contradicts its group', () => {
  const secret = (name: string) => ({ name: 'T', valueFrom: { secretKeyRef: { name, key: 'k' } } });

  it.each<[string, ApiScrapeSource, ApiScrapeSource, string | undefined]>([
    [
      'another value',
      first('old', { scraper: { logLevel: 'info' } }),
      source('new', { scraper: { logLevel: 'debug' } }),
      'spec.scraper.logLevel is "debug" here, but was set to "info" by the older source old; all sources of a group share it',
    ],
    ['the same value', first('old', { replicas: 1 }), source('new', { replicas: 1 }), undefined],
    [
      'another password, which is not shown',
      first('old', { scraper: { fingerprintStore: { valkey: { password: 'hunter2' } } } }),
      source('new', { scraper: { fingerprintStore: { valkey: { password: 'letmein' } } } }),
      'spec.scraper.fingerprintStore.valkey.password is <redacted> here, but was set to <redacted> by the older source old; all sources of a group share it',
    ],
    [
      'another header, which is not shown',
      first('old', { scraper: { otelHeaders: { 'x-tenant': 'one' } } }),
      source('new', { scraper: { otelHeaders: { 'x-tenant': 'two' } } }),
      'spec.scraper.otelHeaders.x-tenant is <redacted> here, but was set to <redacted> by the older source old; all sources of a group share it',
    ],
    [
      'credentials in a URL, which are not shown',
      first('old', { scraper: { otelCollectorEndpoint: 'https://u:p@one:4317' } }),
      source('new', { scraper: { otelCollectorEndpoint: 'https://u:p@two:4317' } }),
      'spec.scraper.otelCollectorEndpoint is "https://<redacted>@two:4317" here, but was set to "https://<redacted>@one:4317" by the older source old; all sources of a group share it',
    ],
    [
      'a reference of the same name to another Secret',
      first('old', { scraper: { serviceName: '${T}' }, env: [secret('one')] }),
      source('new', { scraper: { serviceName: '${T}' }, env: [secret('two')] }),
      'spec.scraper.serviceName is "${T}" here, but was set to "${T}" by the older source old, which means another value there; all sources of a group share it',
    ],
    [
      'a reference to the same Secret',
      first('old', { scraper: { serviceName: '${T}' }, env: [secret('one')] }),
      source('new', { scraper: { serviceName: '${T}' }, env: [secret('one')] }),
      undefined,
    ],
  ])('%s', (_, old, young, message) => {
    const made = group(young, old, source('other', {}, 9));
    expect(members(made)).toEqual(message === undefined ? ['old', 'new', 'other'] : ['old', 'other']);
    expect(made.refusals.get('new')?.message).toBe(message);
    expect(made.refusals.get('new')?.reason).toBe(message === undefined ? undefined : 'GroupConflict');
  });

  it.each<[string, Parameters<typeof source>[1], Parameters<typeof source>[1], string]>([
    [
      'number of pods',
      { replicas: 1 },
      { replicas: 0 },
      'spec.replicas is 0 here, but was set to 1 by the older source a',
    ],
    [
      'overlay',
      { podOverlay: { spec: { priorityClassName: 'a' } } },
      { podOverlay: { spec: { priorityClassName: 'b' } } },
      'spec.podOverlay is something else here, but was set to something else by the older source a',
    ],
  ])('that is as old, with another %s', (_, one, other, message) => {
    const made = group(first('a', one), source('b', other, -1));
    expect(refusals(made)).toEqual([expect.stringContaining(`b: GroupConflict: ${message}`)]);
  });

  it('sets nothing at all', () => {
    const made = group(
      first('old', { scraper: { logLevel: 'info' } }),
      source('new', { scraper: { logLevel: 'debug', serviceName: 'x' } }, 1),
      source('third', { scraper: { serviceName: 'y' } }, 2),
    );
    expect(members(made)).toEqual(['old', 'third']);
    expect(scraperSection(made.settings)).toMatchObject({ serviceName: 'y' });
  });
});

describe('O14 T22: the pods of a group', () => {
  const mine: Parameters<typeof source>[1] = { image: 'mine:1', replicas: 1 };

  it.each<[string, Parameters<typeof source>[1], string]>([
    ['another image', { image: 'evil:1' }, 'spec.image is "evil:1" here'],
    [
      'an overlay',
      { podOverlay: { spec: { containers: [{ name: 'side' }] } } },
      'spec.podOverlay is something else here',
    ],
    ['the number of pods', { replicas: 0 }, 'spec.replicas is 0 here'],
    ['a claim', { storage: { claim: { size: '1Gi' } } }, 'spec.storage is something else here'],
    ['connections', { networkPolicy: { extraEgress: [{}] } }, 'spec.networkPolicy is something else here'],
    ['resources', { resources: {} }, 'spec.resources is something else here'],
  ])('are not changed by a younger source that says %s', (_, said, message) => {
    for (const owner of [first('owner'), first('owner', mine)]) {
      const made = group(owner, source('younger', said), source('third'));
      expect(members(made)).toEqual(['owner', 'third']);
      expect(made.refusals.get('younger')).toMatchObject({ reason: 'InvalidSpec', held: false });
      expect(made.refusals.get('younger')?.message).toContain(message);
      expect(made.refusals.get('younger')?.message).toContain('its oldest source, owner, which');
      expect(podFields(made.settings)).toEqual(podFields(group(owner).settings));
    }
  });

  it('may be described again as they are', () => {
    expect(refusals(group(first('owner', mine), source('younger', mine)))).toEqual([]);
  });

  it('are described by any of those that came with the oldest', () => {
    const made = group(first('a'), source('b', mine, -1));
    expect(refusals(made)).toEqual([]);
    expect(podFields(made.settings)).toMatchObject(mine);
  });

  it('are described by the next oldest source when the oldest has gone', () => {
    const younger = source('younger', { image: 'other:1', scraper: { otelCollectorEndpoint: ENDPOINT } });
    expect(refusals(group(first('owner'), younger))).toEqual([expect.stringContaining('InvalidSpec')]);
    expect(podFields(group(younger, source('third')).settings)).toMatchObject({ image: 'other:1' });
  });

  it('stay as they are when a running source is edited wrongly', () => {
    const before = [first('owner', mine), source('younger')];
    const made = groupOf(
      [first('owner', mine), source('younger', { image: 'evil:1', env: [{ name: 'A', valueFrom: {} }] })],
      {
        ...nothing,
        running: running(group(...before)),
      },
    );
    expect(podFields(made.settings)).toMatchObject(mine);
  });
});

describe('O14 T22: where the Secrets of an older source go', () => {
  const secret = [{ name: 'T', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
  const owner = source('owner', {
    env: secret,
    scraper: {
      otelHeaders: { authorization: '${T}' },
      fingerprintStore: { backend: 'valkey', valkey: { password: '${T}' } },
    },
  });
  const admin = source('owner', { env: secret, scraper: { adminSecretEnv: 'T' } });

  it.each<[string, ApiScrapeSource, object, string]>([
    [
      'collector',
      owner,
      { otelCollectorEndpoint: 'http://evil:4317' },
      'spec.scraper.otelCollectorEndpoint is "http://evil:4317"',
    ],
    [
      'store',
      owner,
      { fingerprintStore: { valkey: { host: 'evil' } } },
      'spec.scraper.fingerprintStore.valkey.host is "evil"',
    ],
    ['admin API', admin, { enableAdminApi: true }, 'spec.scraper.enableAdminApi is true'],
  ])('is not for a younger one to say of its %s', (section, old, scraper, message) => {
    const context = { ...nothing, otlpEndpoint: 'http://default:4317' };
    const made = groupOf([old, source('younger', { scraper }, 1), source('third', {}, 2)], context);
    expect(members(made)).toEqual(['owner', 'third']);
    expect(made.refusals.get('younger')).toMatchObject({ reason: 'InvalidSpec', held: false });
    expect(made.refusals.get('younger')?.message).toContain(message);
    expect(made.refusals.get('younger')?.message).toContain(`the ${section} of a group is the affair of`);
    expect(made.refusals.get('younger')?.message).toContain('owner');
  });

  it('is for any source to say where no older one has said a word of it', () => {
    const scraper = { fingerprintStore: { backend: 'valkey', valkey: { host: 'valkey' } } } as const;
    expect(refusals(group(first('old'), source('younger', { scraper })))).toEqual([]);
  });
});

describe('a source that cannot run', () => {
  it.each<[string, ApiScrapeSource, string]>([
    [
      'an unknown key',
      source('bad', { source: { frequencyy: '5m' } as object }),
      'bad: InvalidSpec: spec.source.frequencyy is not a known key; did you mean frequency?',
    ],
    [
      'a wrong value',
      source('bad', { source: { baseUrl: 'ftp://x' } }),
      'bad: InvalidSpec: spec.source.baseUrl must be',
    ],
    [
      'an API where clouds keep credentials',
      source('bad', { source: { baseUrl: 'http://169.254.169.254' } }),
      'bad: InvalidSpec: spec.source.baseUrl leads to 169.254.169.254',
    ],
    [
      'an endpoint at a link-local address, from a variable whose value stands there',
      source('bad', { source: { endpoint: 'http://${H}/x' }, env: [{ name: 'H', value: '[fe80::1]' }] }),
      'bad: InvalidSpec: spec.source.endpoint leads to fe80::1',
    ],
    [
      'a collector where clouds keep credentials',
      source('bad', { scraper: { otelCollectorEndpoint: 'http://[fd00:ec2::254]:4318' } }),
      'bad: InvalidSpec: spec.scraper.otelCollectorEndpoint leads to fd00:ec2::254',
    ],
    [
      'a broken rule',
      source('bad', { source: { frequency: null } }),
      'bad: InvalidSpec: spec.source.frequency is required',
    ],
    [
      'a variable that it does not declare',
      source('bad', { source: { endpoint: '${PATH}' } }),
      'bad: UndeclaredVariable: spec.source.endpoint refers to the variable PATH, which neither spec.env nor spec.envFrom declares',
    ],
    [
      'a variable that only another source declares',
      source('bad', { source: { endpoint: '${DECLARED}' } }),
      'bad: UndeclaredVariable: spec.source.endpoint refers to the variable DECLARED',
    ],
    [
      'a variable beside the prefix of its objects',
      source('bad', { source: { endpoint: '${OTHER}' }, envFrom: [{ prefix: 'P_', secretRef: { name: 's' } }] }),
      'bad: UndeclaredVariable: spec.source.endpoint refers to the variable OTHER',
    ],
    [
      'an admin secret that it does not declare',
      source('bad', { scraper: { adminSecretEnv: 'ADMIN', enableAdminApi: true } }),
      'bad: UndeclaredVariable: spec.scraper.adminSecretEnv refers to the variable ADMIN',
    ],
    [
      'a variable twice',
      source('bad', {
        env: [
          { name: 'A', value: '1' },
          { name: 'A', value: '2' },
        ],
      }),
      'bad: InvalidSpec: spec.env[1].name is there twice: A',
    ],
    [
      'a variable without a place',
      source('bad', { env: [{ name: 'A', valueFrom: {} }] }),
      'bad: InvalidSpec: spec.env[0].valueFrom needs exactly one of secretKeyRef, configMapKeyRef',
    ],
    [
      'O8: buckets that do not ascend',
      source('bad', { source: { histogramReadings: [{ name: 'h', dataKey: 'x', buckets: [1, 5, 5] }] } }),
      'bad: InvalidSpec: spec.source.histogramReadings[0].buckets[2] is 5, which is not more than the one before it',
    ],
    [
      'O8: memory that is none',
      source('bad', { resources: { limits: { memory: '128MB' } } }, -1),
      'bad: InvalidSpec: spec.resources.limits.memory is "128MB", which is no quantity',
    ],
    [
      'O8: a mount that hides the state',
      source(
        'bad',
        {
          podOverlay: {
            spec: { containers: [{ name: 'scraper', volumeMounts: [{ name: 'x', mountPath: STATE_FOLDER }] }] },
          },
        },
        -1,
      ),
      'bad: InvalidSpec: spec.podOverlay.spec.containers[0].volumeMounts[0].mountPath hides what the operator mounts there',
    ],
    [
      'two pods with a file of SQLite',
      source('bad', { replicas: 2 }, -1),
      'bad: InvalidSpec: spec.scraper.fingerprintStore.backend must be valkey with 2 replicas',
    ],
    [
      'an admin API without a secret',
      source('bad', { scraper: { enableAdminApi: true } }),
      'bad: InvalidSpec: spec.scraper.adminSecretEnv is required when scraper.enableAdminApi is true',
    ],
    [
      'a port that is not written out',
      source('bad', { scraper: { servicePort: '${P:-80}' as unknown as number } }),
      'bad: InvalidSpec: spec.scraper.servicePort must be written out',
    ],
    [
      'the name of another source',
      source('bad', { source: { name: 'good' } }),
      'bad: DuplicateName: spec.source.name is "good", which the older source good',
    ],
    [
      'labels of the operator in its overlay',
      source('bad', { podOverlay: { metadata: { labels: { 'mcpadapter.io/scrape-group': 'x' } } } }),
      'bad: InvalidSpec: spec.podOverlay.metadata.labels',
    ],
    [
      'another port named http',
      source('bad', {
        podOverlay: { spec: { containers: [{ name: 'scraper', ports: [{ name: 'http', containerPort: 1 }] }] } },
      }),
      'bad: InvalidSpec: spec.podOverlay.spec.containers[0].ports must leave the port http alone: it is scraper.servicePort',
    ],
    [
      'half a megabyte',
      source('bad', { source: { endpoint: 'x'.repeat(600_000) } }),
      'bad: InvalidSpec: spec.source must be at most 512 KiB',
    ],
  ])('%s', (_, bad, message) => {
    const made = group(first('good', { env: [{ name: 'DECLARED', value: 'x' }] }), bad, source('later', {}, 9));
    expect(members(made)).toEqual(['good', 'later']);
    expect(refusals(made)).toEqual([expect.stringContaining(message)]);
  });

  it('says so when no source names the collector', () => {
    const made = group(source('a'), source('b', { source: { baseUrl: 'x' } }));
    expect(members(made)).toEqual([]);
    expect(made.refusals.get('a')?.reason).toBe('MissingSetting');
    expect(made.refusals.get('a')?.message).toContain('spec.scraper.otelCollectorEndpoint');
    expect(made.refusals.get('b')?.reason).toBe('InvalidSpec');
  });

  it('is fine as soon as another one completes the settings, whichever is older', () => {
    const valkey = source('store', { scraper: { fingerprintStore: { backend: 'valkey' } } }, 5);
    expect(refusals(group(first('a', { replicas: 3 }), valkey))).toEqual([]);
  });
});

describe('an invalid edit', () => {
  const env = [{ name: 'T', value: 'x' }];
  const before = [
    first('a', { scraper: { logLevel: 'info' } }),
    source('b', { source: { endpoint: '/${T}' }, env, envFrom: [{ secretRef: { name: 's' } }] }),
  ] as const;

  it('leaves the source running as it was', () => {
    const was = groupOf(before, nothing);
    const made = groupOf([before[0], source('b', { source: { baseUrl: 'x' } })], { ...nothing, running: running(was) });
    expect(made.refusals.get('b')).toMatchObject({ reason: 'InvalidSpec', held: true });
    expect(made.members).toEqual(was.members);
  });

  it('of settings leaves the settings of the group as they were', () => {
    const was = groupOf(before, nothing);
    const edited = first('a', { scraper: { logLevel: 'loud', otelCollectorEndpoint: 'no:such:thing' } });
    const made = groupOf([edited, before[1]], { ...nothing, running: running(was) });
    expect(scraperSection(made.settings)).toEqual(scraperSection(was.settings));
    expect(members(made)).toEqual(['a', 'b']);
    expect(made.refusals.get('a')?.held).toBe(true);
    expect(made.refusals.has('b')).toBe(false);
  });

  it('keeps its name from a younger source', () => {
    const was = groupOf(before, nothing);
    const edited = source('b', { source: { baseUrl: 'x', name: 'other' } });
    const made = groupOf([before[0], edited, source('c', { source: { name: 'b' } }, 3)], {
      ...nothing,
      running: running(was),
    });
    expect(made.refusals.get('c')?.reason).toBe('DuplicateName');
  });

  it('of a source that never ran starts nothing', () => {
    const made = groupOf([...before, source('c', { source: { baseUrl: 'x' } })], {
      ...nothing,
      running: running(groupOf(before, nothing)),
    });
    expect(made.refusals.get('c')?.held).toBe(false);
    expect(members(made)).toEqual(['a', 'b']);
  });
});

describe('the file', () => {
  it('is what the scraper reads, whatever stands in its texts', () => {
    const nasty = [
      'off',
      '0o17',
      '1e3',
      '12:30:45',
      '# ApiScrapeSource x\n# ApiScrapeSource y',
      ' lead',
      '*a',
      'a: b',
      '${X:-# no}',
      '~',
      '',
      '\ttab\r\n',
    ];
    const extraHeaders = Object.fromEntries(
      nasty.map((text, index) => [`h${index}`, text.replaceAll(/[\r\n\t]/g, ' ').trim()]),
    );
    const made = group(
      first('a', {
        source: { scrape: { type: 'instant', extraArgs: { nasty, '# ApiScrapeSource z': nasty }, extraHeaders } },
      }),
      source('b', { source: { endpoint: '/${T}' }, env: [{ name: 'T', value: 'x' }] }),
    );
    expect(refusals(made)).toEqual([]);
    const text = renderFile(
      scraperSection(made.settings),
      made.members.map(({ text }) => text),
    );
    const loaded = loadScraperConfig(text, { A__X: '', B__T: 'resolved' });
    expect(loaded.sources[0]?.scrape.extraArgs).toMatchObject({
      nasty: nasty.map((one) => one.replace('${X:-# no}', '# no')),
    });
    expect(loaded.sources[1]?.endpoint).toBe('/resolved');
    expect(running(made)()?.members.get('a')?.entry).toEqual(made.members[0]?.entry);
  });
});
