import { describe, expect, it } from 'vitest';
import type { Condition } from '../../../crds/v1alpha1/conditions.ts';
import type { PendingDefinition } from '../../../crds/v1alpha1/mcp-tool-lock.ts';
import { problemsText } from '../../validation/problems-text.ts';
import type { Comparison } from '../lock/comparison.ts';
import type { LockInForce } from './lock-condition.ts';
import { type Report, type StatusInputs, report } from './report.ts';
import { deploymentWith, healthWith, notReady, podWith, waitingPod } from '../testing/observed.ts';
import { sampleAdapter } from '../testing/sample.ts';

const now = new Date('2026-06-01T00:00:00Z');
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'demo', namespace: 'team' },
  spec: { clusterIP: '10.1.0.1', ports: [{ name: 'http', port: 8932 }] },
};

/** A resource whose pods serve, and that has answered. */
const serving: StatusInputs = {
  resource: sampleAdapter(),
  applyResult: { kind: 'applied' },
  paused: false,
  deployment: deploymentWith(),
  service,
  storage: { kind: 'temporary' },
  network: { kind: 'restricted', widePorts: [] },
  pods: [podWith()],
  health: [healthWith(['files'])],
  usesOAuth: false,
  hasFileRules: false,
  lock: undefined,
  isHealthKnown: true,
  handshake: { ok: true },
  warnings: [],
  now,
};

const inputs = (changes: Partial<StatusInputs>): StatusInputs => ({ ...serving, ...changes });

/** `Type=Status/Reason`, and `@generation` where it is not the resource's. */
function conditions({ conditions }: Report): string[] {
  return conditions.map(
    ({ type, status, reason, observedGeneration }) =>
      `${type}=${status}/${reason}${observedGeneration === undefined ? '' : `@${observedGeneration}`}`,
  );
}

const find = (result: Report, type: string) => result.conditions.find((one) => one.type === type);

const deadline = { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' };
/** Conditions of a Deployment whose rollout was complete before it lost its pods. */
const lostFor = (minutes: number): readonly object[] => {
  const since = new Date(now.getTime() - minutes * 60_000).toISOString();
  return [
    { type: 'Available', status: 'False', lastTransitionTime: since },
    { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable', lastUpdateTime: '2026-01-01T00:00:00Z' },
  ];
};
const nowhere = podWith({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', message: 'Insufficient cpu' }],
});
const storeless = healthWith(['files'], { stateStore: { healthy: false, detail: 'ECONNREFUSED' } });

const quota = {
  type: 'ReplicaFailure',
  status: 'True',
  message: 'pods "demo" is forbidden: exceeded quota: small',
};
const claim = (phase: string) => ({
  kind: 'claim' as const,
  name: 'demo-storage',
  made: true,
  claim: {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'demo-storage' },
    spec: { storageClassName: 'fast' },
    status: { phase },
  },
});

describe('a resource that serves', () => {
  it('is ready, with all that there is to say', () => {
    const result = report(serving);
    expect(conditions(result)).toEqual([
      'Accepted=True/Accepted',
      'Ready=True/Ready',
      'Progressing=False/Complete',
      'UpstreamsHealthy=True/Healthy',
      'StateStoreReady=True/Ready',
      'AccessProtected=True/Protected',
      'StorageReady=True/Temporary',
      'NetworkPolicyEnforced=True/Restricted',
    ]);
    expect(result).toMatchObject({
      observedGeneration: 1,
      replicas: 1,
      readyReplicas: 1,
      selector: 'mcpadapter.io/adapter=demo',
      url: 'http://demo.team.svc:8932',
      configHash: 'abc',
      upstreams: [{ id: 'files', healthy: true }],
      upstreamsHealthy: '1/1',
    });
  });

  it('says the same when nothing has changed, whatever the time and the order of pods', () => {
    const pods = [podWith({ name: 'a' }), podWith({ name: 'b' })];
    const first = report(inputs({ pods }));
    const second = report(inputs({ pods: pods.toReversed(), now: new Date('2027-01-01T00:00:00Z') }));
    expect(second).toEqual(first);
  });
});

describe('the summary', () => {
  const rolling = deploymentWith({ wanted: 3, updated: 1, total: 4, available: 3 });
  const starting = deploymentWith({ available: 0 });
  it.each<[string, Partial<StatusInputs>, string, string]>([
    [
      'starts as Unknown',
      { deployment: undefined, pods: [], handshake: undefined, health: [] },
      'Unknown/Progressing',
      'not there yet',
    ],
    [
      'waits for a Deployment that was changed',
      { deployment: deploymentWith({ generation: 2, observedGeneration: 1 }) },
      'Unknown/Progressing',
      'its controller has not seen yet',
    ],
    [
      'waits for pods of the newest revision',
      { deployment: rolling },
      'Unknown/Progressing',
      'Pods of the newest revision: 1 of 3',
    ],
    [
      'waits for pods to become available',
      { deployment: starting, handshake: undefined },
      'Unknown/Progressing',
      'Available pods: 0 of 1',
    ],
    [
      'waits for old pods to end',
      { deployment: deploymentWith({ wanted: 2, total: 3 }) },
      'Unknown/Progressing',
      'Pods of older revisions that have not ended: 1',
    ],
    ['waits for the handshake', { handshake: undefined }, 'Unknown/Progressing', 'The handshake is still to come'],
    [
      'is patient with a young pod',
      { handshake: { ok: false, message: 'no' }, now: new Date('2026-01-01T00:00:20Z') },
      'Unknown/Progressing',
      'Waiting for an answer: no',
    ],
    [
      'tells of a failed handshake',
      { handshake: { ok: false, message: 'http://10.1.0.1:8932/mcp answered initialize with HTTP 502' } },
      'False/HandshakeFailed',
      'HTTP 502',
    ],
    [
      'counts a demand for credentials',
      { handshake: { ok: true, note: 'the adapter wants credentials' } },
      'True/Ready',
      'the adapter wants credentials',
    ],
    [
      'repeats warnings',
      { warnings: ['The state file lies outside of the storage'] },
      'True/Ready',
      'The state file lies outside',
    ],
    [
      'is content without pods when none are wanted',
      { deployment: deploymentWith({ wanted: 0 }), pods: [], health: [], handshake: undefined },
      'True/ScaledToZero',
      'No pod is wanted',
    ],
    [
      'names an image that cannot be pulled',
      {
        deployment: starting,
        pods: [waitingPod('ImagePullBackOff', 'Back-off pulling image "adapter:1": ErrImagePull: not found')],
      },
      'False/ImagePullBackOff',
      'The image adapter:1 of container adapter cannot be pulled: not found. Check spec.image',
    ],
    [
      'names it the same way between two attempts',
      { deployment: starting, pods: [waitingPod('ErrImagePull', 'not found')] },
      'False/ImagePullBackOff',
      'The image adapter:1 of container adapter cannot be pulled: not found. Check spec.image',
    ],
    [
      'names a Secret that is missing',
      { deployment: starting, pods: [waitingPod('CreateContainerConfigError', 'secret "token" not found')] },
      'False/CreateContainerConfigError',
      'secret "token" not found. Create what is missing',
    ],
    [
      'names a key that is missing',
      {
        deployment: starting,
        pods: [waitingPod('CreateContainerConfigError', "couldn't find key a in Secret team/token")],
      },
      'False/CreateContainerConfigError',
      "couldn't find key a in Secret team/token",
    ],
    [
      'O2: says that a container ends, and not what it said of itself',
      {
        deployment: starting,
        pods: [
          waitingPod('CrashLoopBackOff', 'back-off 10s', {
            lastState: {
              terminated: { exitCode: 1, reason: 'ContainerCannotRun', message: 'the secret is sesame' },
            },
          }),
        ],
      },
      'False/CrashLoopBackOff',
      'Container adapter ends again and again, with exit code 1 (ContainerCannotRun). See: kubectl logs -n team deployment/demo -c adapter --previous',
    ],
    [
      'says the same while it runs for a moment',
      {
        deployment: starting,
        pods: [
          podWith({
            conditions: notReady,
            container: {
              ready: false,
              restartCount: 2,
              state: { running: {} },
              lastState: { terminated: { exitCode: 1, reason: 'Error' } },
            },
          }),
        ],
      },
      'False/CrashLoopBackOff',
      'with exit code 1',
    ],
    [
      'does not call one restart a loop',
      {
        deployment: starting,
        pods: [
          podWith({
            conditions: notReady,
            container: {
              ready: false,
              restartCount: 1,
              state: { running: {} },
              lastState: { terminated: { exitCode: 1, reason: 'Error' } },
            },
          }),
        ],
      },
      'Unknown/Progressing',
      'Available pods',
    ],
    [
      'says that memory is short',
      {
        deployment: starting,
        pods: [
          waitingPod('CrashLoopBackOff', '', { lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } } }),
        ],
      },
      'False/OOMKilled',
      'raise spec.resources.limits.memory',
    ],
    [
      'waits for a node',
      {
        deployment: starting,
        pods: [
          podWith({
            phase: 'Pending',
            conditions: [
              {
                type: 'PodScheduled',
                status: 'False',
                reason: 'Unschedulable',
                message: '0/1 nodes are available: 1 Insufficient cpu.',
              },
            ],
          }),
        ],
      },
      'Unknown/Progressing',
      '0/1 nodes are available: 1 Insufficient cpu',
    ],
    [
      'gives up on a node with the Deployment',
      {
        deployment: deploymentWith({ available: 0, conditions: [deadline] }),
        pods: [
          podWith({
            phase: 'Pending',
            conditions: [{ type: 'PodScheduled', status: 'False', message: 'Insufficient cpu' }],
          }),
        ],
      },
      'False/Unschedulable',
      'The rollout makes no progress: Available pods: 0 of 1. A pod cannot be placed on a node: Insufficient cpu',
    ],
    [
      'O3: is patient with a pod that was lost and finds no node',
      { deployment: deploymentWith({ available: 0, conditions: lostFor(9) }), pods: [nowhere], health: [] },
      'Unknown/Progressing',
      'Insufficient cpu',
    ],
    [
      'O3: gives up on it as on a rollout',
      { deployment: deploymentWith({ available: 0, conditions: lostFor(11) }), pods: [nowhere], health: [] },
      'False/Unschedulable',
      'Pods have been missing for too long: Available pods: 0 of 1. A pod cannot be placed on a node',
    ],
    [
      'O3: gives up on pods that do not come back, also when nobody knows why',
      { deployment: deploymentWith({ wanted: 2, available: 1, conditions: lostFor(11) }) },
      'False/PodsUnavailable',
      'Available pods: 1 of 2',
    ],
    [
      'O3: says at once that the state store is away',
      { deployment: deploymentWith({ available: 0, conditions: lostFor(0) }), health: [storeless] },
      'False/StateStoreUnavailable',
      'The state store does not work for 1 of 1 pod (ECONNREFUSED)',
    ],
    [
      'O3: gives up because of the state store',
      { deployment: deploymentWith({ available: 0, conditions: [deadline] }), health: [storeless] },
      'False/StateStoreUnavailable',
      'The rollout makes no progress',
    ],
    [
      'O3: does not blame the state store while others have it',
      {
        deployment: deploymentWith({ wanted: 2, available: 0 }),
        pods: [podWith(), podWith({ name: 'demo-2' })],
        health: [storeless, healthWith(['files'], { pod: 'demo-2' })],
      },
      'Unknown/Progressing',
      'Available pods: 0 of 2',
    ],
    [
      'gives up without a known cause',
      { deployment: deploymentWith({ available: 0, conditions: [deadline] }) },
      'False/ProgressDeadlineExceeded',
      'makes no progress',
    ],
    [
      'tells of a quota',
      {
        deployment: deploymentWith({
          total: 0,
          updated: 0,
          available: 0,
          conditions: [quota],
        }),
        pods: [],
      },
      'False/PodsRefused',
      'exceeded quota: small',
    ],
    [
      'gives up because of a quota',
      { deployment: deploymentWith({ wanted: 3, total: 1, updated: 1, available: 1, conditions: [quota, deadline] }) },
      'False/PodsRefused',
      'The rollout makes no progress: Pods cannot be made: pods "demo" is forbidden: exceeded quota: small',
    ],
    [
      'waits for storage',
      { deployment: starting, storage: claim('Pending') },
      'Unknown/Progressing',
      'demo-storage waits for a volume: storage class fast has to provide it',
    ],
    [
      'tells of lost storage',
      { deployment: starting, storage: claim('Lost') },
      'False/StorageNotReady',
      'has lost its volume',
    ],
    [
      'tells of a claim that does not exist',
      { deployment: starting, storage: { kind: 'claim', name: 'nfs', made: false, claim: undefined } },
      'False/StorageNotReady',
      'PersistentVolumeClaim nfs does not exist',
    ],
    [
      'says how many serve beside a broken rollout',
      {
        deployment: deploymentWith({ wanted: 2, total: 3, updated: 1, available: 2 }),
        pods: [waitingPod('ImagePullBackOff', 'no')],
      },
      'False/ImagePullBackOff',
      '2 other pods serve',
    ],
    [
      'does not mind what keeps old pods',
      {
        deployment: rolling,
        pods: [
          podWith({
            annotations: {},
            container: { ready: false, state: { waiting: { reason: 'ImagePullBackOff', message: 'x' } } },
          }),
        ],
      },
      'Unknown/Progressing',
      'of the newest revision',
    ],
    [
      'waits for what could not be applied',
      { applyResult: { kind: 'waiting', message: 'Service demo is being deleted' } },
      'Unknown/Progressing',
      'is being deleted',
    ],
    [
      'says that nothing runs of a refused resource',
      {
        applyResult: { kind: 'refused', reason: 'InvalidSpec', message: 'x' },
        deployment: undefined,
        pods: [],
        health: [],
      },
      'False/InvalidSpec',
      'Nothing runs',
    ],
    [
      'waits while paused before the start',
      { paused: true, deployment: undefined, pods: [], health: [] },
      'Unknown/Paused',
      'spec.paused is true',
    ],
  ])('%s', (_, changes, expected, message) => {
    const ready = find(report(inputs(changes)), 'Ready');
    expect(`${ready?.status}/${ready?.reason}`).toBe(expected);
    expect(ready?.message).toContain(message);
  });
});

describe('kstatus', () => {
  it.each<[string, Partial<StatusInputs>, string | undefined]>([
    ['nothing while ready', {}, undefined],
    ['Reconciling while it rolls', { deployment: deploymentWith({ available: 0 }) }, 'Reconciling'],
    [
      'Reconciling while a pod cannot start, because Kubernetes goes on trying',
      { deployment: deploymentWith({ available: 0 }), pods: [waitingPod('ImagePullBackOff', '')] },
      'Reconciling',
    ],
    ['Stalled after the deadline', { deployment: deploymentWith({ available: 0, conditions: [deadline] }) }, 'Stalled'],
    [
      'Stalled after the deadline because of a quota',
      { deployment: deploymentWith({ wanted: 3, available: 1, conditions: [quota, deadline] }) },
      'Stalled',
    ],
    [
      'O3: Reconciling while pods are lost',
      { deployment: deploymentWith({ available: 0, conditions: lostFor(9) }), health: [storeless] },
      'Reconciling',
    ],
    [
      'O3: Stalled when they do not come back',
      { deployment: deploymentWith({ available: 0, conditions: lostFor(11) }), pods: [nowhere] },
      'Stalled',
    ],
    ['Stalled when refused', { applyResult: { kind: 'refused', reason: 'NameConflict', message: 'x' } }, 'Stalled'],
    [
      'Stalled without its storage',
      { deployment: deploymentWith({ available: 0 }), storage: claim('Lost') },
      'Stalled',
    ],
    ['nothing while paused', { paused: true, deployment: deploymentWith({ available: 0 }) }, undefined],
  ])('%s', (_, changes, expected) => {
    const found = report(inputs(changes)).conditions.filter(({ type }) => ['Reconciling', 'Stalled'].includes(type));
    expect(found.map(({ type, status }) => `${type}=${status}`)).toEqual(
      expected === undefined ? [] : [`${expected}=True`],
    );
  });
});

describe('an edit that is not applied', () => {
  const before: Condition = {
    type: 'Ready',
    status: 'True',
    reason: 'Ready',
    message: 'x',
    observedGeneration: 4,
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };
  const resource = sampleAdapter({
    'metadata.generation': 5,
    status: { conditions: [before], url: 'http://demo.team.svc:8932' },
  });

  it('keeps telling about the pods of the generation before when it is invalid', () => {
    const edited = { ...resource, spec: { ingress: { host: 'new.example' } } };
    const applyResult = { kind: 'refused', reason: 'InvalidSpec', message: 'spec.config.core.port must be …' } as const;
    const result = report(inputs({ resource: edited, applyResult }));
    expect(conditions(result)).toContain('Accepted=False/InvalidSpec');
    expect(conditions(result)).toContain('Ready=True/Ready@4');
    expect(conditions(result)).toContain('Progressing=False/Complete@4');
    expect(conditions(result)).toContain('Stalled=True/InvalidSpec');
    expect(result).toMatchObject({ observedGeneration: 5, url: 'http://demo.team.svc:8932' });
  });

  it('keeps telling about them while paused', () => {
    const result = report(inputs({ resource, paused: true }));
    expect(conditions(result)).toEqual(
      expect.arrayContaining(['Accepted=True/Accepted', 'Ready=True/Ready@4', 'Paused=True/Paused']),
    );
  });
});

describe('a handshake that fails', () => {
  const failing = (failingForMs: number, status?: object): string => {
    const values = status === undefined ? {} : { status };
    const handshake = { ok: false, message: 'ECONNREFUSED', failingForMs } as const;
    const ready = find(report(inputs({ resource: sampleAdapter(values), handshake })), 'Ready');
    return `${ready?.status}/${ready?.reason}`;
  };
  const before = (reason: string, observedGeneration: number): object => ({
    conditions: [{ type: 'Ready', status: 'False', reason, message: '', observedGeneration, lastTransitionTime: '' }],
  });

  it('is waited for, also when the pods are older than their Service', () => {
    expect(failing(29_999)).toBe('Unknown/Progressing');
    expect(failing(30_000)).toBe('False/HandshakeFailed');
  });

  it.each([
    ['True', 'Ready', undefined, 'Reconciling'],
    ['False', 'HandshakeFailed', 'Stalled', 'Stalled'],
  ] as const)('T23: O10: leaves Ready %s while the first one is under way', (status, reason, same, changed) => {
    const before = { type: 'Ready', status, reason, message: 'before', observedGeneration: 1 };
    const conditions = [{ ...before, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    const url = 'http://before:8932';
    const resource = (generation: number) => {
      const sample = sampleAdapter({ status: { conditions, url } });
      return { ...sample, metadata: { ...sample.metadata, generation } };
    };
    const kstatus = (result: Report) =>
      result.conditions.find(({ type }) => type === 'Stalled' || type === 'Reconciling')?.type;
    const now = report(inputs({ resource: resource(1), handshake: 'underway' }));
    expect(find(now, 'Ready')).toEqual(before);
    expect(now.url).toBe(url);
    expect(kstatus(now)).toBe(same);
    // Of a later generation it is not known yet.
    const later = report(inputs({ resource: resource(2), handshake: 'underway' }));
    expect(find(later, 'Ready')).toEqual(before);
    expect(kstatus(later)).toBe(changed);
  });

  it('stays a failure when another operator sees it for the first time', () => {
    expect(failing(0, before('HandshakeFailed', 1))).toBe('False/HandshakeFailed');
    expect(failing(0, before('HandshakeFailed', 0))).toBe('Unknown/Progressing');
    expect(failing(0, before('PodsRefused', 1))).toBe('Unknown/Progressing');
  });
});

it.each([
  ['Reconciling', '2026-05-31T23:50:01Z'],
  ['Stalled', '2026-05-31T23:50:00Z'],
])('is %s when clients have had no answer since %s', (type, lastTransitionTime) => {
  const ready = { type: 'Ready', status: 'False', reason: 'HandshakeFailed', message: '', lastTransitionTime };
  const resource = sampleAdapter({ status: { conditions: [{ ...ready, observedGeneration: 1 }] } });
  const result = report(inputs({ resource, handshake: { ok: false, message: 'ECONNREFUSED' } }));
  const told = result.conditions.map(({ type, reason }) => `${type}/${reason}`);
  expect(told.filter((one) => /^(Reconciling|Stalled)/.test(one))).toEqual([`${type}/HandshakeFailed`]);
});

describe('upstreams and the state store', () => {
  it('names the upstream and how many pods it does not answer, and stays ready', () => {
    const result = report(inputs({ health: [healthWith(['a', '!b']), healthWith(['a', 'b'])] }));
    expect(find(result, 'UpstreamsHealthy')).toMatchObject({
      status: 'False',
      message: 'b does not answer 1 of 2 pods: connect ECONNREFUSED',
    });
    expect(find(result, 'Ready')?.status).toBe('True');
    expect(result.upstreamsHealthy).toBe('1/2');
  });

  it('does not change its words with those of the error', () => {
    const upstreams = [{ id: 'b', healthy: false, message: 'does not answer 1 of 1 pod: timeout' }];
    const result = report(inputs({ resource: sampleAdapter({ status: { upstreams } }), health: [healthWith(['!b'])] }));
    expect(result.upstreams).toEqual(upstreams);
  });

  it('says that the state store does not work', () => {
    const stateStore = { healthy: false, detail: 'redis_unhealthy' };
    const result = report(inputs({ health: [healthWith(['a'], { stateStore })] }));
    expect(find(result, 'StateStoreReady')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('1 of 1 pod (redis_unhealthy)'),
    });
  });

  it.each([
    [['open_to_all'], 'OpenToAll', 'auth.enabled is false'],
    [['weak_credentials', 'weak_credentials'], 'WeakCredentials', 'can be guessed'],
    [['weak_credentials', 'open_to_all'], 'OpenToAll', 'auth.enabled is false'],
  ])('T25: says what is weak about who may come in: %j', (warnings, reason, message) => {
    const health = [healthWith(['a']), healthWith(['a'], { warnings })];
    const found = find(report(inputs({ health })), 'AccessProtected');
    expect(found).toMatchObject({ status: 'False', reason, message: expect.stringContaining(message) });
  });

  it('T25: passes on nothing that it does not know', () => {
    const health = [healthWith(['a'], { warnings: ['<b>new</b>'] })];
    expect(find(report(inputs({ health })), 'AccessProtected')).toMatchObject({ status: 'True' });
  });

  it('T23: O10: keeps what pods said before until all of them have been asked', () => {
    const upstreams = [{ id: 'files', healthy: false, message: 'does not answer 1 of 1 pod: before' }];
    const known = { type: 'StateStoreReady', status: 'False' as const, reason: 'Unavailable', message: 'before' };
    const conditions = [{ ...known, observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' }];
    const status = { conditions, upstreams };
    const result = report(
      inputs({
        resource: sampleAdapter({ status }),
        health: [healthWith(['files'])],
        isHealthKnown: false,
        deployment: deploymentWith({ available: 0 }),
      }),
    );
    expect(result.upstreams).toEqual(upstreams);
    expect(find(result, 'StateStoreReady')).toMatchObject(known);
  });

  it('keeps what pods said when none of them answers this time', () => {
    const known: Condition = {
      type: 'UpstreamsHealthy',
      status: 'False',
      reason: 'UpstreamUnhealthy',
      message: 'b',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const status = { conditions: [known], upstreams: [{ id: 'b', healthy: false }] };
    const result = report(inputs({ resource: sampleAdapter({ status }), health: [] }));
    expect(find(result, 'UpstreamsHealthy')).toMatchObject({ status: 'False', message: 'b' });
    expect(result.upstreamsHealthy).toBe('0/1');
    const gone = report(
      inputs({ resource: sampleAdapter({ status }), health: [], deployment: deploymentWith({ available: 0 }) }),
    );
    expect(find(gone, 'UpstreamsHealthy')?.status).toBe('Unknown');
    expect(gone.upstreams).toBeUndefined();
  });

  it('does not take the word of pods that run an earlier generation for the newest one', () => {
    const known: Condition[] = ['UpstreamsHealthy', 'StateStoreReady'].map((type) => ({
      type,
      status: 'True',
      reason: 'Healthy',
      message: '',
      observedGeneration: 1,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
    const resource = sampleAdapter({ status: { conditions: known }, 'metadata.generation': 2 });
    const generations = (changes: Partial<StatusInputs>): unknown[] => {
      const result = report(inputs({ resource, ...changes }));
      return known.map(({ type }) => find(result, type)?.observedGeneration);
    };
    expect(generations({ deployment: deploymentWith({ wanted: 2, updated: 1 }) })).toEqual([1, 1]);
    expect(generations({ paused: true })).toEqual([1, 1]);
    // All pods are new, but none has said anything yet.
    expect(generations({ health: [] })).toEqual([1, 1]);
    // Undefined stands for that of the resource.
    expect(generations({})).toEqual([undefined, undefined]);
  });
});

describe('the network policy', () => {
  it.each<[StatusInputs['network'], string, string]>([
    [{ kind: 'off' }, 'False/Disabled', 'no NetworkPolicy'],
    [{ kind: 'restricted', widePorts: [] }, 'True/Restricted', 'names every host'],
    [{ kind: 'restricted', widePorts: ['443', '8443'] }, 'True/PortsOnly', 'any address at these ports'],
    [{ kind: 'restricted', widePorts: ['443', '8443'] }, 'True/PortsOnly', ': 443, 8443. '],
    [
      { kind: 'open', fields: ['servers[0].upstream.url'] },
      'False/UnknownUpstream',
      'servers[0].upstream.url depends on a Secret',
    ],
  ])('%j', (network, expected, message) => {
    const found = find(report(inputs({ network })), 'NetworkPolicyEnforced');
    expect(`${found?.status}/${found?.reason}`).toBe(expected);
    expect(found?.message).toContain(message);
  });
});

describe('the URL', () => {
  it.each<[string, Partial<StatusInputs>, string | undefined]>([
    ['is that of the Service', {}, 'http://demo.team.svc:8932'],
    [
      'is that of the Ingress',
      { resource: sampleAdapter({ 'spec.ingress': { host: 'a.example' } }) },
      'http://a.example',
    ],
    [
      'starts with https with a certificate',
      { resource: sampleAdapter({ 'spec.ingress': { host: 'a.example', tlsSecretName: 't' } }) },
      'https://a.example',
    ],
    [
      'is that of the HTTPRoute',
      {
        resource: sampleAdapter({
          'spec.httpRoute': { parentRefs: [{ name: 'g', sectionName: 'https' }], hostnames: ['b.example'] },
        }),
      },
      'https://b.example',
    ],
    ['is not shown before the first answer', { handshake: undefined }, undefined],
    ['is not shown after a failed one', { handshake: { ok: false, message: 'x' } }, undefined],
    ['is not shown when no pod serves', { deployment: deploymentWith({ available: 0 }) }, undefined],
    [
      'stays during a rollout',
      {
        deployment: deploymentWith({ wanted: 2, updated: 1, available: 1 }),
        handshake: undefined,
        resource: sampleAdapter({ status: { url: 'http://demo.team.svc:8932' } }),
      },
      'http://demo.team.svc:8932',
    ],
  ])('%s', (_, changes, expected) => {
    expect(report(inputs(changes)).url).toBe(expected);
  });
});

it('lists problems with their paths, and not without end', () => {
  const problems = Array.from({ length: 25 }, (_, index) => ({ path: `spec.env[${index}]`, message: 'is wrong' }));
  const text = problemsText(problems);
  expect(text).toContain('spec.env[0] is wrong; spec.env[1] is wrong');
  expect(text).toMatch(/and 5 more$/);
});

describe('FileRulesMatched', () => {
  const ruled = (pod: string, ...fileRules: { entry: number; reason: 'no_tool' | 'no_argument' }[]) => {
    const health = healthWith(['files'], { pod });
    return { ...health, servers: health.servers.map((server) => ({ ...server, fileRules })) };
  };
  const two = [podWith({ name: 'a' }), podWith({ name: 'b' })];
  const found = (changes: Partial<StatusInputs>) =>
    find(report(inputs({ pods: two, hasFileRules: true, ...changes })), 'FileRulesMatched');

  it('names the entries that fit nothing, once for all pods', () => {
    const health = [
      ruled('a', { entry: 1, reason: 'no_argument' }),
      ruled('b', { entry: 1, reason: 'no_argument' }, { entry: 0, reason: 'no_tool' }),
    ];
    expect(found({ health })).toMatchObject({
      status: 'False',
      reason: 'RulesWithoutTool',
      message: expect.stringMatching(
        /^adapters\[0\] of the server files names a tool .*; adapters\[1\] of the server files names an argument [^;]*\./,
      ) as string,
    });
  });

  it('is true where all fit, unknown where no pod answers, and not there without entries', () => {
    expect(found({ health: [ruled('a')] })).toMatchObject({ status: 'True', reason: 'Matched' });
    expect(found({ health: [] })).toMatchObject({ status: 'Unknown', reason: 'NoAnswer' });
    expect(found({ health: [ruled('a')], hasFileRules: false })).toBeUndefined();
  });
});

describe('ToolsMatchLock', () => {
  const comparison: Comparison = {
    isKnown: true,
    pending: [],
    counts: { drift: 0, new: 0, removed: 0 },
    comparedAt: 1,
    mode: 'enforce',
    problems: [],
    silent: [],
  };
  const differing = (state: PendingDefinition['state'], count: number, ...names: string[]): Partial<Comparison> => ({
    counts: { ...comparison.counts, [state]: count },
    pending: names.map((name) => ({ server: 'files', kind: 'tools', name, state, fields: ['title'] })),
  });
  const told = (more: Partial<Comparison> = {}, lock?: LockInForce, changes: Partial<StatusInputs> = {}) => {
    const found = find(
      report(inputs({ lock: { lock, comparison: { ...comparison, ...more } }, ...changes })),
      'ToolsMatchLock',
    );
    return found && `${found.status}/${found.reason}: ${found.message}`;
  };

  it.each<[string, Partial<Comparison>, RegExp]>([
    ['all is as approved', {}, /^True\/Matched/],
    ['something is new', differing('new', 1, 'a'), /^True\/NewDefinitions: .*server files: the tool a is new$/],
    ['something is gone', differing('removed', 1, 'a'), /^False\/Removed: .*server files: the tool a is gone$/],
    [
      'something drifts',
      differing('drift', 12, 'a', 'b'),
      /^False\/Drift: .*the tool a differs in title; server files: the tool b differs in title; 10 more\. They are hidden/,
    ],
    ['something drifts that has no name', differing('drift', 2), /: 2 definitions that pods do not name\. /],
    ['it is only marked', { ...differing('drift', 1, 'a'), mode: 'audit' }, /They are served and marked/],
    ['pods cannot read it', { problems: ['demo-1: a\u200bb'] }, /^False\/LockNotRead: .*demo-1: a\\u\{200b\}b$/],
  ])('when %s', (_what, more, expected) => {
    expect(told(more)).toMatch(expected);
  });

  it('says that the lock cannot be used, and what is in force then', () => {
    const lock = { name: 'approved', refusal: 'spec.mode is wrong', isKept: true };
    expect(told({}, lock)).toMatch(/^False\/LockNotAccepted: The McpToolLock approved: spec\.mode .*stays in force$/);
    expect(told({}, { ...lock, isKept: false })).toMatch(/No lock is in force$/);
  });

  it('keeps what was known until something has been compared, is unknown before, and gone without a lock', () => {
    const none = { isKnown: false };
    const before: Condition = {
      type: 'ToolsMatchLock',
      status: 'False',
      reason: 'Drift',
      message: 'before',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const resource = { ...serving.resource, status: { conditions: [before] } };
    expect(told(none, undefined, { resource })).toBe('False/Drift: before');
    expect(told(none)).toMatch(/^Unknown\/NoAnswer/);
    expect(told({}, undefined, { resource, lock: undefined })).toBeUndefined();
  });
});

describe('AuthReady', () => {
  type Keys = 'known' | 'unread' | 'unavailable';
  const told = (pod: string, keys: Keys, issuer = 'https://id') =>
    healthWith(['files'], { pod, issuers: [{ issuer, keys }] });
  const two = [podWith({ name: 'a' }), podWith({ name: 'b' })];
  const auth = (changes: Partial<StatusInputs>) => {
    const found = find(report(inputs({ pods: two, usesOAuth: true, ...changes })), 'AuthReady');
    return found && `${found.status}/${found.reason}`;
  };
  const before: Condition = {
    type: 'AuthReady',
    status: 'False',
    reason: 'IssuerUnavailable',
    message: 'as it was',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  };

  it.each<[string, Partial<StatusInputs>, string | undefined]>([
    ['every pod has the keys', { health: [told('a', 'known'), told('b', 'known')] }, 'True/KeysKnown'],
    ['one has not', { health: [told('a', 'known'), told('b', 'unavailable')] }, 'False/IssuerUnavailable'],
    ['one has not tried yet', { health: [told('a', 'known'), told('b', 'unread')] }, 'Unknown/Progressing'],
    ['no pod says anything of it', { health: [healthWith(['files'], { pod: 'a' })] }, 'Unknown/NoAnswer'],
    ['no pod answers', { health: [] }, 'Unknown/NoAnswer'],
    ['there is no OAuth', { health: [healthWith(['files'], { pod: 'a' })], usesOAuth: false }, undefined],
    ['there is no OAuth, and no pod answers', { health: [], usesOAuth: false }, undefined],
    ['only the pods know that there is', { health: [told('a', 'unread')], usesOAuth: false }, 'Unknown/Progressing'],
    [
      'a pod has not, which is not ready',
      {
        pods: [podWith({ name: 'a' }), podWith({ name: 'b', conditions: notReady })],
        health: [told('a', 'known'), told('b', 'unavailable')],
      },
      'True/KeysKnown',
    ],
    [
      'pods do not answer any more',
      { health: [], resource: { ...sampleAdapter(), status: { conditions: [before] } } },
      'False/IssuerUnavailable',
    ],
  ])('when %s', (_what, changes, expected) => {
    expect(auth(changes)).toBe(expected);
  });

  it('names the issuers and the pods, whatever their order', () => {
    const health = [
      healthWith(['files'], {
        pod: 'b',
        issuers: [
          { issuer: 'https://two', keys: 'unavailable' },
          { issuer: 'https://one', keys: 'unavailable' },
          { issuer: 'https://three', keys: 'known' },
        ],
      }),
      told('a', 'unavailable', 'https://one'),
    ];
    const first = find(report(inputs({ pods: two, health })), 'AuthReady');
    expect(first?.message).toContain(
      'https://one has given its keys to none of a, b; https://two has given its keys to none of b. ',
    );
    expect(find(report(inputs({ pods: two, health: health.toReversed() })), 'AuthReady')).toEqual(first);
  });

  it('leaves Ready alone', () => {
    expect(find(report(inputs({ pods: two, health: [told('a', 'unavailable')] })), 'Ready')?.status).toBe('True');
  });
});
