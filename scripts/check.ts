/** `npm run check`: all that `npm test` demands besides tests. Exit code 1 when a step fails. */
import { runChecks } from './suite/checks.ts';
import { report } from './suite/report.ts';

const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());
const results = await runChecks(interruption.signal, ({ name, state }) => console.log(`${state}  ${name}`));
console.log(`\n${report(results)}`);
process.exitCode = results.every(({ state }) => state === 'passed') ? 0 : 1;
