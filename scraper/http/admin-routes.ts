import type { ScraperConfig, Source } from '../../crds/config/scraper-file/scraper.ts';
import type { Scraper } from '../scraper.ts';
import { StateUnavailable } from '../state/ledger.ts';
import { podOf } from '../state/rendezvous.ts';
import { Refused, type TriggerResult } from '../status.ts';
import { type Answer, ok, Refusal } from '../../lib/http/answer.ts';
import { backfillRange } from './backfill-range.ts';
import { type Explain, ExplainRoute } from './explain-route.ts';
import { pagingOf } from './paging.ts';
import { jsonObject } from '../../lib/http/request-body.ts';
import type { Call, Route } from '../../lib/http/route.ts';
import { configView, runView, sourceLine, sourceView, statusView, windowView } from './views.ts';

/** What the admin API asks of the scraper. */
export type AdminScraper = Pick<
  Scraper,
  'sources' | 'runs' | 'windows' | 'trigger' | 'backfill' | 'pause' | 'resume' | 'retryDead' | 'pods'
>;

export interface AdminRoutesOptions {
  /** The configuration in use. */
  readonly config: () => ScraperConfig;
  readonly scraper: AdminScraper;
  /** Whether the program is about to end, so that nothing is begun any more. */
  readonly isDraining: () => boolean;
  readonly now: () => Date;
  readonly explain: Explain;
}

/** Routes of the original, as it has them and as its documentation has them, and those that are new. */
export function adminRoutes(options: AdminRoutesOptions): Route[] {
  const { config, scraper } = options;
  const explaining = new ExplainRoute(options.explain);
  const source = ({ name }: Call): Source => {
    const found = config().sources.find((one) => one.name === name);
    if (found === undefined) throw new Refusal(404, 'Source not found');
    return found;
  };
  const get = (path: string, answer: (call: Call) => unknown): Route => ({
    method: 'GET',
    path,
    answer: (call) => withReasons(async () => ok(await answer(call))),
  });
  const post = (path: string, answer: (call: Call, source: Source) => Promise<Answer>): Route => ({
    method: 'POST',
    path,
    answer: (call) => {
      const asked = source(call);
      if (options.isDraining()) throw unavailable('The scraper is about to end');
      return withReasons(() => answer(call, asked));
    },
  });
  const trigger = (_: Call, { name }: Source): Promise<Answer> => triggered(scraper, name);

  return [
    get('/config', () => configView(config())),
    get('/pods', () => podsView(options)),
    get('/sources', () => {
      const known = new Map(scraper.sources().map((status) => [status.name, status]));
      return config().sources.map((one) => sourceLine(one, known.get(one.name)));
    }),
    get('/sources/{name}', (call) => {
      const found = source(call);
      const status = statusOf(scraper, found.name);
      return { ...sourceView(config(), found), ...(status === undefined ? {} : { status: statusView(status) }) };
    }),
    get('/sources/{name}/runs', (call) => {
      const { name } = source(call);
      return { source: name, runs: scraper.runs(name).map(runView) };
    }),
    get('/sources/{name}/windows', async (call) => {
      const { name } = source(call);
      const { offset, limit } = pagingOf(call.query);
      // One more than is shown tells whether there are more.
      const windows = await scraper.windows(name, { offset, limit: limit + 1 });
      const next = windows.length > limit ? offset + limit : null;
      return { source: name, offset, limit, next_offset: next, windows: windows.slice(0, limit).map(windowView) };
    }),
    post('/sources/{name}/scrape', trigger),
    post('/scrape/{name}', trigger),
    post('/sources/{name}/backfill', async (call, { name }) => {
      const range = backfillRange(jsonObject(call), options.now());
      const windows = await scraper.backfill(name, range);
      const [start, end] = [range.start.toISOString(), range.end.toISOString()];
      return { status: 202, body: { status: 'planned', source: name, start, end, windows } };
    }),
    post('/sources/{name}/explain', async ({ query }, { name }) => ok(await explaining.answer(name, query))),
    post('/sources/{name}/pause', async (_, { name }) => {
      await scraper.pause(name);
      return ok({ status: 'paused', source: name });
    }),
    post('/sources/{name}/resume', async (_, { name }) => {
      await scraper.resume(name);
      return ok({ status: 'resumed', source: name });
    }),
    post('/sources/{name}/retry', async (_, { name }) => {
      return ok({ status: 'retried', source: name, ...(await scraper.retryDead(name)) });
    }),
  ];
}

const statusOf = (scraper: AdminScraper, name: string) => scraper.sources().find((status) => status.name === name);

async function triggered(scraper: AdminScraper, name: string): Promise<Answer> {
  const result = await scraper.trigger(name);
  if (result !== 'done' && result !== 'failed') throw notTriggered(result, scraper, name);
  const [run] = scraper.runs(name);
  return ok({ status: 'triggered', source: name, result, run: run === undefined ? null : runView(run) });
}

function notTriggered(result: Exclude<TriggerResult, 'done' | 'failed'>, scraper: AdminScraper, name: string): Refusal {
  if (result === 'elsewhere') {
    const pod = podOf(name, scraper.pods().live);
    return new Refusal(421, `The source belongs to another pod${pod === undefined ? '' : `, ${pod}`}; ask that one`);
  }
  if (result === 'unusable') {
    return new Refusal(
      409,
      `The source cannot run: ${statusOf(scraper, name)?.unusable ?? 'its configuration is unusable'}`,
    );
  }
  return new Refusal(409, result === 'paused' ? 'The source is paused; resume it first' : 'The source is running');
}

/** The live pods, and which sources each of them runs. Those that cannot run are nobody's. */
function podsView({ scraper }: AdminRoutesOptions): object {
  const { self, live } = scraper.pods();
  const usable = scraper.sources().filter(({ unusable }) => unusable === undefined);
  const names = usable.map(({ name }) => name);
  const owners = Map.groupBy(names, (name) => podOf(name, live));
  return { pod: self, pods: live.map((pod) => ({ name: pod, sources: owners.get(pod) ?? [] })) };
}

/** What the rest of the program refuses, for who asked. */
async function withReasons(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) throw new Refusal(400, error.message);
    if (error instanceof StateUnavailable) throw unavailable(`The state store is unavailable: ${error.message}`);
    throw error;
  }
}

const unavailable = (why: string): Refusal => new Refusal(503, why, { 'Retry-After': '5' });
