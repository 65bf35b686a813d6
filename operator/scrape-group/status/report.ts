/** Pure: what was observed of a group → the status of one of its sources. */
import type { ApiScrapeSource, ApiScrapeSourceStatus } from '../../../crds/v1alpha1/api-scrape-source.ts';
import { type PodProblem, shortened } from '../../health/pod-problems.ts';
import { restrictedFinding } from '../../pods/restricted-condition.ts';
import type { Rollout } from '../../health/rollout.ts';
import type { Finding } from '../../status/conditions.ts';
import type { Refusal } from '../group/group.ts';
import type { SourceHealth } from './health.ts';

/** What one source's status is made of. */
export interface Situation {
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
  readonly isHeard: boolean;
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
export type Report = Omit<ApiScrapeSourceStatus, 'conditions'> & { readonly conditions: readonly Finding[] };

export function report(situation: Situation): Report {
  const { source, pausedBy } = situation;
  const before = source.status ?? {};
  const shown = shownHealth(situation);
  const ready = readyFinding(situation);
  return {
    observedGeneration: source.metadata.generation ?? 0,
    conditions: [
      acceptedFinding(situation),
      ready,
      progressFinding(situation, ready),
      scrapedFinding(situation, shown),
      networkFinding(situation, before),
      ...(pausedBy.length > 0 ? [pausedFinding(situation)] : []),
      ...kstatusFindings(situation, ready),
    ].filter((finding) => finding !== undefined),
    group: situation.group,
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
function shownHealth({ source, health, intervalMs }: Situation): Shown {
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

function acceptedFinding({ refusal, failure }: Situation): Finding {
  const type = 'Accepted';
  if (refusal !== undefined) {
    const held = refusal.held ? '. Until this is mended, the source goes on as it ran before' : '';
    return { type, status: 'False', reason: refusal.reason, message: refusal.message + held };
  }
  if (failure?.final === true) return { type, status: 'False', reason: failure.reason, message: failure.message };
  return { type, status: 'True', reason: 'Accepted', message: 'The specification is valid' };
}

function readyFinding(situation: Situation): Finding {
  const { source, refusal, failure, rollout, problem, overdue, upToDate, isHeard, health, pausedBy } = situation;
  const known = source.status?.conditions?.find((condition) => condition.type === 'Ready');
  const say = (status: Finding['status'], reason: string, message: string): Finding => ({
    type: 'Ready',
    status,
    reason,
    message,
    ...aboutFormer(situation, known?.observedGeneration),
  });
  if (refusal !== undefined && !refusal.held && refusal.reason !== 'MissingSetting') {
    return say('False', refusal.reason, 'It does not run: see condition Accepted');
  }
  if (rollout.state === 'missing') {
    if (refusal !== undefined) return say('False', refusal.reason, 'It does not run: see condition Accepted');
    if (pausedBy.length > 0) return say('Unknown', 'Paused', 'Nothing runs yet, and the group is paused');
    if (failure?.final === true) return say('False', failure.reason, 'It does not run: see condition Accepted');
    return say('Unknown', 'Progressing', failure?.message ?? 'The pods are being made');
  }
  if (rollout.wanted === 0) return say('False', 'ScaledToZero', 'No pods are wanted: spec.replicas is 0');
  if (rollout.available === 0) {
    if (problem !== undefined) {
      return say(problem.failing || overdue ? 'False' : 'Unknown', problem.reason, problem.message);
    }
    if (rollout.refusal !== undefined) return say('False', 'PodsRefused', rollout.refusal);
    if (rollout.state === 'rolling' && !overdue) return say('Unknown', 'Progressing', 'The pods are starting');
    return say('False', 'PodsUnavailable', 'No pod is available');
  }
  // Pods that run go on with the source while others are replaced, and while the sources of others change.
  const wasReady = known?.status === 'True' && known.observedGeneration === source.metadata.generation;
  const reads = upToDate === true && health !== undefined;
  if (refusal?.held === true || wasReady || reads) {
    return say('True', 'Ready', ['The pods scrape it', ...(situation.losesState ? [LOSES_STATE] : [])].join('. '));
  }
  const isFormer = aboutFormer(situation, known?.observedGeneration).observedGeneration !== undefined;
  if (known !== undefined && (isFormer || (!isHeard && known.observedGeneration === source.metadata.generation))) {
    return say(known.status, known.reason, known.message);
  }
  return upToDate === undefined
    ? say('Unknown', 'NoAnswer', 'No pod has told what it scrapes')
    : say('Unknown', 'Progressing', 'The pods have not read the newest sources yet');
}

const LOSES_STATE =
  'Its state goes with its pod: what happens between two pods is not scraped, and status.watermark knows nothing of ' +
  'it. Set spec.storage.claim, or scraper.fingerprintStore.backend to valkey';

/** What is said of pods is about the generation that they were made from, which is an earlier one until it is applied. */
function aboutFormer(
  { refusal, failure, pausedBy, frozenBy, rollout }: Situation,
  generation: number | undefined,
): { observedGeneration?: number } {
  const applied = refusal === undefined && failure === undefined && pausedBy.length === 0 && frozenBy.length === 0;
  return applied || generation === undefined || rollout.state === 'missing' ? {} : { observedGeneration: generation };
}

/** Without counts of pods: they would be written into the status of every source of the group. */
function progressFinding({ rollout, overdue }: Situation, ready: Finding): Finding {
  const say = (status: Finding['status'], reason: string, message: string): Finding => ({
    type: 'Progressing',
    status,
    reason,
    message,
    ...(ready.observedGeneration === undefined ? {} : { observedGeneration: ready.observedGeneration }),
  });
  switch (rollout.state) {
    case 'missing':
      return say('Unknown', 'NoDeployment', 'There are no pods yet');
    case 'stuck':
      return say(
        'False',
        'ProgressDeadlineExceeded',
        ['The rollout of the pods makes no progress', ...(rollout.refusal === undefined ? [] : [rollout.refusal])].join(
          '. ',
        ),
      );
    case 'refused':
      return say('True', 'PodsRefused', rollout.message);
    case 'rolling':
      if (overdue) return say('False', 'PodsUnavailable', 'The pods do not come back');
      return say('True', 'RollingOut', 'The pods are being replaced');
    default:
      return ready.status === 'Unknown' && ready.reason === 'Progressing'
        ? say('True', 'ReadingSources', ready.message)
        : say('False', 'Complete', 'The pods are of the newest revision');
  }
}

function scrapedFinding({ rollout, refusal }: Situation, { lastScrapeTime, lastError, deadWindows }: Shown): Finding {
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

function networkFinding({ unknownHosts, widePorts }: Situation, before: ApiScrapeSourceStatus): Finding | undefined {
  const type = 'NetworkPolicyEnforced';
  if (unknownHosts === undefined) {
    const known = before.conditions?.find((condition) => condition.type === type);
    return known && { type, status: known.status, reason: known.reason, message: known.message };
  }
  if (unknownHosts.length === 0) return restrictedFinding(widePorts);
  const fields = unknownHosts.slice(0, MAX_FIELDS).join(', ') + (unknownHosts.length > MAX_FIELDS ? ', …' : '');
  const message =
    `Pods may connect to any address but link-local ones and those of metadata services, because hosts depend on a Secret ` +
    `or ConfigMap (${fields}). ` +
    'Write the hosts out, or give them as values in spec.env';
  return { type, status: 'False', reason: 'UnknownUpstream', message };
}

function pausedFinding({ source, pausedBy }: Situation): Finding {
  const others = pausedBy.filter((name) => name !== source.metadata.name);
  const who = source.spec.paused === true ? 'spec.paused is true' : `spec.paused of ${others[0]} is true`;
  const message = `Nothing is rolled out or repaired in this group while ${who}`;
  return { type: 'Paused', status: 'True', reason: 'Paused', message };
}

/** Source: kstatus, "The abnormal-true conditions". Both are there only while they are true. */
function kstatusFindings(situation: Situation, ready: Finding): Finding[] {
  const { refusal, failure, rollout, overdue, pausedBy, frozenBy } = situation;
  const stalled = (reason: string, message: string): Finding[] => [
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
