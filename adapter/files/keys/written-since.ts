import type { OpenedFile } from './file-key.ts';

/** Clocks of file systems stand still for a while (NFS in whole seconds, FAT in two). */
const CLOCK_STEP_MS = 2_500;

/** Whether a file was last written since a call has begun; `startedAt` by the clock of this machine, in milliseconds. */
export const wasWrittenSince = ({ modifiedAt }: Pick<OpenedFile, 'modifiedAt'>, startedAt: number): boolean =>
  modifiedAt >= startedAt - CLOCK_STEP_MS;
