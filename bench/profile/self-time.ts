import { z } from 'zod';

/** A .cpuprofile as V8 writes it (Chrome DevTools Protocol, Profiler.Profile); times are microseconds. */
export const CpuProfile = z.object({
  nodes: z.array(
    z.object({
      id: z.number(),
      callFrame: z.object({ functionName: z.string(), url: z.string(), lineNumber: z.number() }),
    }),
  ),
  startTime: z.number(),
  samples: z.array(z.number()),
  timeDeltas: z.array(z.number()),
});
export type CpuProfile = z.output<typeof CpuProfile>;

/** Time spent in a function itself, not in what it calls. */
export interface SelfTime {
  readonly name: string;
  /** File and line, such as `adapter/http/server.ts:12`; empty for what is not JavaScript. */
  readonly place: string;
  /** What the function belongs to: a folder of the project, a package, `node`, or `V8`. */
  readonly part: string;
  readonly ms: number;
}

/** The part of a profile that counts, in milliseconds after its start. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Self times of all functions within the span, the largest first. Idle time is left out. */
export function selfTimes(profile: CpuProfile, span: Span, root: string): SelfTime[] {
  const micros = new Map<number, number>();
  let at = 0;
  for (const [i, id] of profile.samples.entries()) {
    at += profile.timeDeltas[i] ?? 0;
    if (at < span.fromMs * 1000 || at >= span.toMs * 1000) continue;
    // A sample stands for the time until the next one.
    micros.set(id, (micros.get(id) ?? 0) + Math.max(0, profile.timeDeltas[i + 1] ?? 0));
  }
  const byFunction = new Map<string, SelfTime>();
  for (const { id, callFrame } of profile.nodes) {
    const ms = (micros.get(id) ?? 0) / 1000;
    if (ms === 0 || callFrame.functionName === '(idle)') continue;
    const file = shortPath(callFrame.url, root);
    const place = file === '' ? '' : `${file}:${callFrame.lineNumber + 1}`;
    const name = callFrame.functionName || '(anonymous)';
    const key = `${name} ${place}`;
    byFunction.set(key, { name, place, part: partOf(file), ms: (byFunction.get(key)?.ms ?? 0) + ms });
  }
  return [...byFunction.values()].sort((a, b) => b.ms - a.ms);
}

/** The same summed by part. */
export function partTimes(times: readonly SelfTime[]): { part: string; ms: number }[] {
  const sums = new Map<string, number>();
  for (const { part, ms } of times) sums.set(part, (sums.get(part) ?? 0) + ms);
  return [...sums].map(([part, ms]) => ({ part, ms })).sort((a, b) => b.ms - a.ms);
}

/** `file:///srv/adapter/app.ts` → `adapter/app.ts`, `…/node_modules/undici/index.js` → `undici/index.js`. */
function shortPath(url: string, root: string): string {
  const path = url.replace(/^file:\/\//, '');
  const modules = path.lastIndexOf('/node_modules/');
  if (modules >= 0) return path.slice(modules + '/node_modules/'.length);
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path;
}

function partOf(file: string): string {
  if (file === '') return 'V8';
  if (file.startsWith('node:')) return 'node';
  const [first = '', second = ''] = file.split('/');
  return first.startsWith('@') || first === 'dist' || first === 'adapter' ? `${first}/${second}` : first;
}
