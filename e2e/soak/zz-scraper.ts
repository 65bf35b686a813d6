import { constants, setPriority } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { heapOptions } from '../../operator/pods/heap.ts';
import { Workshop } from '../scraper/kit/workshop.ts';
import { startProcess } from '../support/processes.ts';
import { Stopwatch } from './stopwatch.ts';
import { HOSTILE_PAGES } from './hostile-api.ts';
const only = process.argv[2]?.split(',') ?? Object.keys(HOSTILE_PAGES);
const seconds = Number(process.argv[3] ?? 20);
const prof = process.argv[4];
await using pages = startProcess(process.execPath, [fileURLToPath(new URL('zz-pages.ts', import.meta.url))], {});
setPriority(pages.pid, constants.priority.PRIORITY_LOW);
const [, port] = await pages.waitForStdout(/pages at (\d+)/);
const evil = `http://127.0.0.1:${port}`;
await using workshop = await Workshop.open();
const source = (name: string) => ({ name, frequency: '1s', baseUrl: evil, endpoint: `/${name}`, runFirstScrape: true,
    gaugeReadings: [{ name: 'soak', dataKey: 'n' }], counterReadings: [{ name: 'soak_count', dataKey: 'n' }],
    attributes: [{ name: 'label', dataKey: 'label' }], maxSeriesBytes: '4Mi',
    scrape: { type: 'instant', timeout: '5s', pagination: { type: 'nextLink' } } });
const file = await workshop.configure(['good', ...only].map(source), { logLevel: 'critical' });
const scraper = await workshop.start(file, { MALLOC_MMAP_THRESHOLD_: '65536', NODE_OPTIONS: `${heapOptions(512 << 20)}${prof ? ` --cpu-prof --cpu-prof-dir=${prof}` : ''}` });
await delay(3000);
const watch = new Stopwatch();
const until = performance.now() + seconds * 1000;
while (performance.now() < until) {
  const t = performance.now();
  await watch.time(async () => { const { statusCode, body } = await request(`${scraper.url}/livez`, { reset: true }); await body.dump(); return statusCode === 200; });
  await delay(50);
}
const { p50, p99, max, count } = watch.take();
process.kill(scraper.pid, 'SIGTERM'); await scraper.exited;
console.log(only.join(','), 'livez', count, p50.toFixed(1), p99.toFixed(1), max.toFixed(0));
