/** What Linux tells of cores and memory. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Which cores the two sides of a measurement have; undefined means wherever the kernel likes. */
export interface Cores {
  /** One for each replica of a target, used in turn. */
  readonly targets: readonly (number | undefined)[];
  /** The load generator, the upstream, Redis and the harness itself. */
  readonly load: number | undefined;
}

/** The first core is the target's, the second the load's; further ones are for further replicas. */
export function divideCores(allowed: readonly number[]): Cores {
  const [first, second, ...rest] = allowed;
  if (first === undefined || second === undefined) return { targets: [undefined], load: undefined };
  return { targets: [first, ...rest], load: second };
}

/** Reads a list such as `0-2,5` (the format of Cpus_allowed_list). */
export function parseCoreList(text: string): number[] {
  return text
    .trim()
    .split(',')
    .filter((part) => part !== '')
    .flatMap((part) => {
      const [first, last] = part.split('-').map(Number);
      if (first === undefined) return [];
      return Array.from({ length: (last ?? first) - first + 1 }, (_, i) => first + i);
    });
}

/** One field of a /proc/PID/status file, as a number; the kernel gives memory in KiB. NaN when it is missing. */
export function statusField(text: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN);
}

export function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:(.*)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
  return parseCoreList(list ?? '');
}

/** Resident memory in KiB, now and at its highest since the last `forgetPeak`, summed over processes. */
export function residentKib(pids: readonly number[]): { now: number; peak: number } {
  const texts = pids.map((pid) => readFileSync(`/proc/${pid}/status`, 'utf8'));
  const sum = (name: string): number => texts.reduce((total, text) => total + statusField(text, name), 0);
  return { now: sum('VmRSS'), peak: sum('VmHWM') };
}

/** Makes the peak of resident memory start again from now (proc_pid_clear_refs(5), value 5). */
export function forgetPeak(pids: readonly number[]): void {
  for (const pid of pids) writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** CPU seconds of all cores since boot, out of /proc/stat; niced work and waiting are left out. */
export function busySeconds(text: string): number {
  const [, user = 0, , system = 0, , , irq = 0, softirq = 0] = (text.split('\n', 1)[0] ?? '').split(/\s+/).map(Number);
  return (user + system + irq + softirq) / 100;
}

/** CPU seconds of a process with all its threads, out of /proc/PID/stat. */
export function processSeconds(text: string): number {
  // The name in parentheses may hold anything, so count from its end: user and system time are the 12th and 13th there.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
