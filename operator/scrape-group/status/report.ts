/** Pure: what was observed of a group → the status of one of its sources. */
import type { ApiScrapeSource, ApiScrapeSourceStatus } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { type PodProblem, shortened } from '../../health/pod-problems.ts';
import { restrictedCondition } from '../../pods/restricted-condition.ts';
import type { Rollout } from '../../health/rollout.ts';
import type { DesiredCondition } from '../../status/conditions.ts';
import type { Refusal } from '../group/group.ts';
import type { SourceHealth } from './health.ts';

/** What one source's status is made of. */
export interface StatusInputs {
  /** With the status before. */
  readonly source: ApiScrapeSource;
  readonly group: string;
  readonly refusal: Refusal | undefined;
  /** Why the objects of the group could not be applied, when they were tried. */
  readonly failure: { readonly reason: string; readonly message: string; readonly final: boolean } | undefined;
  /** Resources that pause the group. */
  readonly pausedBy: readonly string[];
  /** Resources whose wrong edit keeps the pods of the group as they are. */
  readonly frozenBy: readonly string[];
  /** Of the pods that run the source. */
  readonly rollout: Rollout;
  /** Whether pods have been missing for too long. */
  readonly overdue: boolean;
  readonly problem: PodProblem | undefined;
  /** Whether every pod that answers runs with the newest file; undefined when none answers. */
  readonly upToDate: boolean | undefined;
  /** Whether all pods that may answer have been asked; until then the source stays as ready as it was. */
  readonly isHealthKnown: boolean;
  readonly health: SourceHealth | undefined;
  /** Whether a new pod begins without the state of the one before it. */
  readonly losesState: boolean;
  /** Fields whose connections cannot be known; undefined while the pods are left as they are. */
  readonly unknownHosts: readonly string[] | undefined;
  /** Where the NetworkPolicy allows any address. */
  readonly widePorts: readonly string[];
  /** What is no great news moves in the status only so often. */
  readonly intervalMs: number;
}

/** A status whose conditions have no times yet. */
export type Report = Omit<ApiScrapeSourceStatus, 'conditions'> & { readonly conditions: readonly DesiredCondition[] };

export function report(inputs: StatusInputs): Report {
  const { source, pausedBy } = inputs;
  const before = source.status ?? {};
  const shown = shownHealth(inputs);
  const ready = readyCondition(inputs);
  return {
    observedGeneration: source.metadata.generation ?? 0,
    conditions: [
      acceptedCondition(inputs),
      ready,
      progressingCondition(inputs, ready),
      scrapedCondition(inputs, shown),
      networkCondition(inputs, before),
      ...(pausedBy.length > 0 ? [pausedCondition(inputs)] : []),
      ...kstatusConditions(inputs, ready),
    ].filter((condition) => condition !== undefined),
    group: inputs.group,
    ...shown,
  };
}

const SHOWN = ['lastScrapeTime', 'lastSuccessTime', 'watermark', 'records', 'lastError', 'deadWindows'] as const;
type Shown = Pick<ApiScrapeSourceStatus, (typeof SHOWN)[number]>;

/**
 * What the status says of the last scrape whose outcome was another than that before it: what has come or gone is told at
 * once, another error and more windows that were set aside after a while. While all goes as it did nothing is written,
 * however many sources there are; times of every scrape are in the metrics of the scrapers, and in what their pods say.
 */
function shownHealth({ source, health, intervalMs }: StatusInputs): Shown {
  const { lastScrapeTime, lastSuccessTime, watermark, records, lastError, deadWindows } = source.status ?? {};
  const before: Shown = { lastScrapeTime, lastSuccessTime, watermark, records, lastError, deadWindows };
  if (health === undefined) return before;
  const now: Shown = {
    lastScrapeTime: health.lastScrape,
    lastSuccessTime: health.lastSuccess,
    watermark: health.watermark,
    records: health.records,
    lastError: health.lastError === undefined ? undefined : shortened(health.lastError),
    // A source without a watermark has moments, which a later one replaces.
    deadWindows: health.watermark === undefined ? undefined : health.deadWindows || undefined,
  };
  // A pod that has just started has scraped nothing yet; what its predecessor did still holds. One that cannot scrape at
  // all says why.
  if (now.lastScrapeTime === undefined) return { ...before, lastError: now.lastError ?? before.lastError };
  const hasCome = SHOWN.some((member) => before[member] === undefined && now[member] !== undefined);
  const hasGone = (['lastError', 'deadWindows'] as const).some(
    (member) => before[member] !== undefined && now[member] === undefined,
  );
  const isOther = words(now.lastError) !== words(lastError) || now.deadWindows !== deadWindows;
  const isLater = Date.parse(now.lastScrapeTime) - Date.parse(lastScrapeTime ?? '') >= intervalMs;
  return hasCome || hasGone || (isOther && isLater) ? now : before;
}

/** An error without what may differ each time: numbers, times, ids. */
const words = (error: string | undefined): string | undefined => error?.replaceAll(/\S*\d\S*/g, '#');

function acceptedCondition({ refusal, failure }: StatusInputs): DesiredCondition {
  const type = 'Accepted';
  if (refusal !== undefined) {
    const held = refusal.held ? '. Until this is mended, the source goes on as it ran before' : '';
    return { type, status: 'False', reason: refusal.reason, message: refusal.message + held };
  }
  if (failure?.final === true) return { type, status: 'False', reason: failure.reason, message: failure.message };
  return { type, status: 'True', reason: 'Accepted', message: 'The specification is valid' };
}

function readyCondition(inputs: StatusInputs): DesiredCondition {
  const { source, refusal, failure, rollout, problem, overdue, upToDate, isHealthKnown, health, pausedBy } = inputs;
  const known = source.status?.conditions?.find((condition) => condition.type === 'Ready');
  const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'Ready',
    status,
    reason,
    message,
    ...aboutFormer(inputs, known?.observedGeneration),
  });
  if (refusal !== undefined && !refusal.held && refusal.reason !== 'MissingSetting') {
    return condition('False', refusal.reason, 'It does not run: see condition Accepted');
  }
  if (rollout.state === 'missing') {
    if (refusal !== undefined) return condition('False', refusal.reason, 'It does not run: see condition Accepted');
    if (pausedBy.length > 0) return condition('Unknown', 'Paused', 'Nothing runs yet, and the group is paused');
    if (failure?.final === true) return condition('False', failure.reason, 'It does not run: see condition Accepted');
    return condition('Unknown', 'Progressing', failure?.message ?? 'The pods are being made');
  }
  if (rollout.wanted === 0) return condition('False', 'ScaledToZero', 'No pods are wanted: spec.replicas is 0');
  if (rollout.available === 0) {
    if (problem !== undefined) {
      return condition(problem.failing || overdue ? 'False' : 'Unknown', problem.reason, problem.message);
    }
    if (rollout.refusal !== undefined) return condition('False', 'PodsRefused', rollout.refusal);
    if (rollout.state === 'rolling' && !overdue) return condition('Unknown', 'Progressing', 'The pods are starting');
    return condition('False', 'PodsUnavailable', 'No pod is available');
  }
  // Pods that run go on with the source while others are replaced, and while the sources of others change.
  const wasReady = known?.status === 'True' && known.observedGeneration === source.metadata.generation;
  const reads = upToDate === true && health !== undefined;
  if (refusal?.held === true || wasReady || reads) {
    return condition('True', 'Ready', ['The pods scrape it', ...(inputs.losesState ? [LOSES_STATE] : [])].join('. '));
  }
  const isFormer = aboutFormer(inputs, known?.observedGeneration).observedGeneration !== undefined;
  if (
    known !== undefined &&
    (isFormer || (!isHealthKnown && known.observedGeneration === source.metadata.generation))
  ) {
    return condition(known.status, known.reason, known.message);
  }
  return upToDate === undefined
    ? condition('Unknown', 'NoAnswer', 'No pod has told what it scrapes')
    : condition('Unknown', 'Progressing', 'The pods have not read the newest sources yet');
}

const LOSES_STATE =
  'Its state goes with its pod: what happens between two pods is not scraped, and status.watermark knows nothing of ' +
  'it. Set spec.storage.claim, or scraper.fingerprintStore.backend to valkey';

/** What is said of pods is about the generation that they were made from, which is an earlier one until it is applied. */
function aboutFormer(
  { refusal, failure, pausedBy, frozenBy, rollout }: StatusInputs,
  generation: number | undefined,
): { observedGeneration?: number } {
  const applied = refusal === undefined && failure === undefined && pausedBy.length === 0 && frozenBy.length === 0;
  return applied || generation === undefined || rollout.state === 'missing' ? {} : { observedGeneration: generation };
}

/** Without counts of pods: they would be written into the status of every source of the group. */
function progressingCondition({ rollout, overdue }: StatusInputs, ready: DesiredCondition): DesiredCondition {
  const condition = (status: DesiredCondition['status'], reason: string, message: string): DesiredCondition => ({
    type: 'Progressing',
    status,
    reason,
    message,
    ...(ready.observedGeneration === undefined ? {} : { observedGeneration: ready.observedGeneration }),
  });
  switch (rollout.state) {
    case 'missing':
      return condition('Unknown', 'NoDeployment', 'There are no pods yet');
    case 'stuck':
      return condition(
        'False',
        'ProgressDeadlineExceeded',
        ['The rollout of the pods makes no progress', ...(rollout.refusal === undefined ? [] : [rollout.refusal])].join(
          '. ',
        ),
      );
    case 'refused':
      return condition('True', 'PodsRefused', rollout.message);
    case 'rolling':
      if (overdue) return condition('False', 'PodsUnavailable', 'The pods do not come back');
      return condition('True', 'RollingOut', 'The pods are being replaced');
    default:
      return ready.status === 'Unknown' && ready.reason === 'Progressing'
        ? condition('True', 'ReadingSources', ready.message)
        : condition('False', 'Complete', 'The pods are of the newest revision');
  }
}

function scrapedCondition(
  { rollout, refusal }: StatusInputs,
  { lastScrapeTime, lastError, deadWindows }: Shown,
): DesiredCondition {
  const type = 'SourcesHealthy';
  const runs = rollout.wanted > 0 && (refusal === undefined || refusal.held);
  if (!runs || (lastScrapeTime === undefined && lastError === undefined)) {
    return { type, status: 'Unknown', reason: 'NotScraped', message: 'It has not been scraped yet' };
  }
  if (lastError !== undefined) {
    const what = lastScrapeTime === undefined ? 'It cannot be scraped' : 'The last scrape failed';
    return { type, status: 'False', reason: 'ScrapeFailed', message: `${what}: ${lastError}` };
  }
  if (deadWindows !== undefined) {
    const message =
      `${deadWindows} windows of time were set aside after too many attempts, and are not scraped until somebody asks for ` +
      'them again: POST /sources/NAME/retry of the admin API';
    return { type, status: 'False', reason: 'WindowsSetAside', message };
  }
  return { type, status: 'True', reason: 'Scraped', message: 'The last scrape succeeded' };
}

const MAX_FIELDS = 3;

function networkCondition(
  { unknownHosts, widePorts }: StatusInputs,
  before: ApiScrapeSourceStatus,
): DesiredCondition | undefined {
  const type = 'NetworkPolicyEnforced';
  if (unknownHosts === undefined) {
    const known = before.conditions?.find((condition) => condition.type === type);
    return known && { type, status: known.status, reason: known.reason, message: known.message };
  }
  if (unknownHosts.length === 0) return restrictedCondition(widePorts);
  const fields = unknownHosts.slice(0, MAX_FIELDS).join(', ') + (unknownHosts.length > MAX_FIELDS ? ', …' : '');
  const message =
    `Pods may connect to any address but link-local ones and those of metadata services, because hosts depend on a Secret ` +
    `or ConfigMap (${fields}). ` +
    'Write the hosts out, or give them as values in spec.env';
  return { type, status: 'False', reason: 'UnknownUpstream', message };
}

function pausedCondition({ source, pausedBy }: StatusInputs): DesiredCondition {
  const others = pausedBy.filter((name) => name !== source.metadata.name);
  const who = source.spec.paused === true ? 'spec.paused is true' : `spec.paused of ${others[0]} is true`;
  const message = `Nothing is rolled out or repaired in this group while ${who}`;
  return { type: 'Paused', status: 'True', reason: 'Paused', message };
}

/** Source: kstatus, "The abnormal-true conditions". Both are there only while they are true. */
function kstatusConditions(inputs: StatusInputs, ready: DesiredCondition): DesiredCondition[] {
  const { refusal, failure, rollout, overdue, pausedBy, frozenBy } = inputs;
  const stalled = (reason: string, message: string): DesiredCondition[] => [
    { type: 'Stalled', status: 'True', reason, message },
  ];
  if (refusal !== undefined) return stalled(refusal.reason, refusal.message);
  if (failure?.final === true) return stalled(failure.reason, failure.message);
  if (frozenBy.length > 0) {
    return stalled('GroupFrozen', `The pods of the group stay as they are until source ${frozenBy[0]} is mended`);
  }
  if (rollout.state === 'stuck') return stalled('ProgressDeadlineExceeded', ready.message);
  if (overdue && ready.status === 'False') return stalled(ready.reason, ready.message);
  if (pausedBy.length > 0 || ready.status === 'True' || ready.reason === 'ScaledToZero') return [];
  return [{ type: 'Reconciling', status: 'True', reason: ready.reason, message: ready.message }];
}
