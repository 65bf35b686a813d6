import { expect, test } from 'vitest';
import { warningsOf } from './warnings.ts';

const fine = { statePathOutside: undefined, auditPathOutside: undefined, metrics: undefined };

const file = '/state/adapter.sqlite3';
const mounted = (mountPath: string, name = 'adapter') => ({
  podOverlay: { spec: { containers: [{ name, volumeMounts: [{ name: 'state', mountPath }] }] } },
});

const requesting = (name: string, cpu: unknown) => ({
  podOverlay: { spec: { containers: [{ name, resources: { requests: { cpu } } }] } },
});

test('a state file in the storage is nothing to warn of', () => {
  expect(warningsOf({}, fine)).toEqual([]);
});

test.each(['/state', '/state/', '/state/adapter.sqlite3'])('nor is one in a volume at %s', (mountPath) => {
  expect(warningsOf(mounted(mountPath), { ...fine, statePathOutside: file })).toEqual([]);
});

test.each([
  ['nothing is mounted', {}],
  ['another folder is mounted', mounted('/stat')],
  ['a folder below is mounted', mounted('/state/adapter.sqlite3/x')],
  ['a sidecar mounts the folder', mounted('/state', 'sidecar')],
  ['the overlay has no containers', { podOverlay: { spec: { containers: 'x' } } }],
  ['the path of a mount is no path', mounted('/')],
])('a state file that is lost with its pod is told with what to do: %s', (_, spec) => {
  const warnings = warningsOf(spec, { ...fine, statePathOutside: file });
  expect(warnings).toHaveLength(1);
  expect(warnings[0]).toContain(file);
  expect(warnings[0]).toContain('state_persistence.disk.local_path');
});

test('a ServiceMonitor that would find no metrics is told, with what to do', () => {
  const serviceMonitor = { enabled: true };
  const [warning = ''] = warningsOf({ serviceMonitor }, fine);
  expect(warning).toContain('spec.config.telemetry.prometheus.enabled');
  const metrics = { port: 9464, path: '/metrics' };
  expect(warningsOf({ serviceMonitor }, { ...fine, metrics })).toEqual([]);
  expect(warningsOf({ serviceMonitor: { enabled: false } }, fine)).toEqual([]);
});

test('an audit log that is lost with its pod is told, unless its folder is mounted', () => {
  const config = { ...fine, auditPathOutside: '/audit/calls.jsonl' };
  expect(warningsOf({}, config)).toEqual([expect.stringContaining('telemetry.audit_log.path')]);
  expect(warningsOf(mounted('/audit'), config)).toEqual([]);
});

test.each<[string, Parameters<typeof warningsOf>[0], boolean]>([
  ['the default request', {}, false],
  ['a request', { resources: { requests: { cpu: '1' } } }, false],
  ['a limit, which is the request, too', { resources: { limits: { cpu: 1 } } }, false],
  ['memory only', { resources: { limits: { memory: '1Gi' } } }, true],
  ['a request laid over', { resources: {}, ...requesting('adapter', '1') }, false],
  ['a request of a sidecar', { resources: {}, ...requesting('sidecar', '1') }, true],
  ['a request taken away', requesting('adapter', null), true],
])('an autoscaler by CPU needs a request of the adapter: %s', (_, spec, expected) => {
  const autoscaling = { maxReplicas: 4 };
  const warnings = warningsOf({ ...spec, autoscaling }, fine);
  expect(warnings.map((text) => text.includes('spec.resources.requests.cpu'))).toEqual(expected ? [true] : []);
  expect(warningsOf(spec, fine)).toEqual([]);
  expect(warningsOf({ ...spec, autoscaling: { ...autoscaling, metrics: [{ type: 'Pods' }] } }, fine)).toEqual([]);
});

test('T4: Authorization of clients that goes on to upstreams is told, with their fields', () => {
  const server = (...passthrough: string[]) => ({
    id: 'a',
    mount_path: '/a',
    upstream: { url: 'http://a/mcp', client_headers: { passthrough, unsafe: true } },
  });
  expect(warningsOf({ config: { servers: [server('X-Team'), server('X-Team', 'authorization')] } }, fine)).toEqual([
    expect.stringMatching(/^Clients' Authorization is passed on to the upstreams of spec\.config\.servers\[1\],/),
  ]);
  expect(warningsOf({ config: { servers: [server('X-Team')] } }, fine)).toEqual([]);
});
