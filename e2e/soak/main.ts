/** `npm run soak`: hostile clients, upstreams and APIs beside good ones, for half an hour, with what became of these. */
import { parseArgs } from 'node:util';
import type { AttackRun } from './attacks.ts';
import { soak } from './soak.ts';
import type { Times } from './stopwatch.ts';

const USAGE = `Usage: npm run soak [-- --minutes N]

Runs one adapter and one scraper, each as in a container of 512 MiB, beside hostile clients, upstreams and APIs
(30 minutes by default), and prints what became of the good ones. It needs the collector that npm test builds.
Exit code 1 when a program ended, 2 on wrong usage.`;

/** The attacks that went on while the longest was waited for. */
const beside = (attacks: readonly AttackRun[], { max, maxAt }: Times): string =>
  attacks
    .filter(({ from, until }) => from <= maxAt && until >= maxAt - max)
    .map(({ name }) => name)
    .join('; ');

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '30' }, help: { type: 'boolean', short: 'h', default: false } },
});
const minutes = Number(values.minutes);
if (values.help) console.log(USAGE);
else if (!(minutes > 0 && minutes <= 600)) {
  console.error(`--minutes takes a number from 0 to 600, not ${values.minutes}\n\n${USAGE}`);
  process.exitCode = 2;
} else {
  try {
    const hostileMs = minutes * 60_000;
    const times = { calmMs: Math.min(hostileMs / 3, 60_000), hostileMs, afterMs: Math.min(hostileMs / 3, 300_000) };
    const { attacks, direct, ...programs } = await soak(times, (line) => console.log(line));
    const shown = ({ count, failed, reason, p50, p99, max }: Times): string =>
      `${count} (${failed} failed${reason === undefined ? '' : `, first: ${reason}`}), p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, longest ${max.toFixed(0)} ms`;
    for (const [name, { calm, hostile, livez, memory }] of Object.entries(programs)) {
      console.log(`\n${name}`);
      console.log(`  calm     ${shown(calm)}`);
      console.log(`  hostile  ${shown(hostile)}: p99 ${(hostile.p99 / calm.p99).toFixed(2)} x the calm one`);
      console.log(`           the longest beside: ${beside(attacks, hostile)}`);
      console.log(`  /livez   ${shown(livez)}`);
      console.log(`           the longest beside: ${beside(attacks, livez)}`);
      const { before, highest, after, used } = memory;
      console.log(
        `  MiB      ${before.toFixed(0)} before, ${highest.toFixed(0)} at most, ${after.toFixed(0)} ${times.afterMs / 1000} s after`,
      );
      console.log(`  in use   ${used.before.toFixed(0)} before, ${used.after.toFixed(0)} after`);
    }
    console.log('\nthe same calls without the adapter');
    console.log(`  calm     ${shown(direct.calm)}`);
    console.log(`  hostile  ${shown(direct.hostile)}: p99 ${(direct.hostile.p99 / direct.calm.p99).toFixed(2)} x`);
    console.log(`\n${attacks.length} attacks of ${new Set(attacks.map(({ name }) => name)).size} kinds`);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
