import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startAdapter } from '../support/adapter-process.ts';
import { startFileTools } from '../support/file-tools.ts';
import { sharedFolder } from '../adapter/files/kit/folder.ts';
import { fileConfig } from '../adapter/files/kit/settings.ts';
import { contentSeen, uploadedOne } from '../adapter/files/kit/uploads.ts';
import { drain, openSession } from '../adapter/kit/session.ts';
import { stepsOf } from './tutorial.ts';

const PAGE = join(import.meta.dirname, '../../docs/operations/backup.md');
/** As the page names the state. */
const STATE = 'adapter_state.sqlite3';
const run = promisify(execFile);

/** The command by which the page copies SQLite out of a pod, for a process of this machine. */
async function copyCommand(storage: string, copy: string): Promise<string> {
  const steps = stepsOf(await readFile(PAGE, 'utf8'));
  const { commands } = steps.find((step) => step.commands.startsWith('kubectl exec deployment/NAME -- ')) ?? {};
  const here = [
    ['kubectl exec deployment/NAME -- ', ''],
    ['/data/shared/', `${storage}/`],
    ['/tmp/copy.sqlite3', copy],
  ] as const;
  return here.reduce((text, [there, instead]) => {
    expect(text).toContain(there);
    return text.replace(there, instead);
  }, commands ?? '');
}

test('the copy that the page makes of a running adapter brings its sessions and files back', async () => {
  await using tools = await startFileTools();
  await using live = await sharedFolder();
  await using copies = await sharedFolder();
  await using restored = await sharedFolder();
  await using adapter = await startAdapter({ config: fileConfig(live.path, tools.url) });
  const session = await openSession(adapter);
  const { handle } = await uploadedOne(adapter, session.sessionId, 'kept.bin');
  // What the copy of the file alone would lack.
  expect((await stat(join(live.path, `state/${STATE}-wal`))).size).toBeGreaterThan(0);

  await run('sh', ['-ec', await copyCommand(live.path, join(copies.path, 'copy'))], { cwd: copies.path });
  expect(await readdir(copies.path)).toEqual([STATE]);
  const younger = await openSession(adapter);
  await adapter.stop();

  await mkdir(join(restored.path, 'state'), { mode: 0o700 });
  await cp(join(copies.path, STATE), join(restored.path, 'state', STATE));
  await cp(join(live.path, 'uploads'), join(restored.path, 'uploads'), { recursive: true, preserveTimestamps: true });
  await using again = await startAdapter({ config: fileConfig(restored.path, tools.url) });
  const { result } = await session.at(again).tool('read_file', { path: handle });
  expect(JSON.stringify(result)).toContain(String(contentSeen('kept.bin').sha256));
  expect(await drain(younger.at(again).request('tools/list'))).toBe(404);
});
