import { mkdir, writeFile } from 'node:fs/promises';
import type { LocalPod } from './local-pod.ts';

/** Makes the folders of a pod, and the files of its volumes, for its user only. */
export async function writeVolumes({ folders, files }: Pick<LocalPod, 'folders' | 'files'>): Promise<void> {
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [file, content] of Object.entries(files)) await writeFile(file, content, { mode: 0o600 });
}
