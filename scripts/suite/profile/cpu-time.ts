import { readFileSync } from 'node:fs';

/** Environment variable that has vitest note what each file costs. */
export const PROFILED = 'TEST_PROFILE';

declare module 'vitest' {
  interface TaskMeta {
    /** What a file has cost in its process, and in those that it started and saw end. */
    cpuSeconds?: number;
  }
}

/** Fields of /proc/self/stat behind the name, which may have spaces; see proc_pid_stat(5). */
const UTIME = 11;
/** Linux counts them in hundredths of a second, whatever the kernel's own clock does. */
const TICKS_PER_SECOND = 100;

/** Of this process and of its children that have ended; NaN where the system does not tell. */
export function cpuSeconds(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = fields.slice(UTIME, UTIME + 4).reduce((sum, field) => sum + Number(field), 0);
    return ticks / TICKS_PER_SECOND;
  } catch {
    return Number.NaN;
  }
}
