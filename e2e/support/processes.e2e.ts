import { afterEach, describe, expect, test } from 'vitest';
import { type RunningProcess, startProcess } from './processes.ts';

describe('a process for tests', { timeout: 15_000 }, () => {
  const opened: RunningProcess[] = [];
  afterEach(async () => {
    for (const running of opened.splice(0)) await running.stop();
  });
  function run(script: string, env?: NodeJS.ProcessEnv): RunningProcess {
    const running = startProcess(process.execPath, ['--eval', script], env);
    opened.push(running);
    return running;
  }
  const idle = 'setInterval(() => {}, 1000);';

  test('shows its output and how it ended', async () => {
    const running = run('console.log("out"); console.error("err"); process.exitCode = 3;');
    expect(await running.exited).toEqual({ code: 3, signal: null });
    expect([running.stdout(), running.stderr()]).toEqual(['out\n', 'err\n']);
    expect(running.hasExited()).toBe(true);
  });

  test('sees only the environment that the test gives it', async () => {
    process.env.FROM_THE_SHELL = 'yes';
    try {
      const running = run('console.log(process.env.FROM_THE_SHELL, process.env.GIVEN)', { GIVEN: 'yes' });
      await running.exited;
      expect(running.stdout()).toBe('undefined yes\n');
    } finally {
      delete process.env.FROM_THE_SHELL;
    }
  });

  test('can be awaited until it prints something', async () => {
    const running = run(`${idle} console.log("one"); setTimeout(() => console.log("port=17"), 30);`);
    expect((await running.waitForStdout(/port=(\d+)/))[1]).toBe('17');
    await expect(running.waitForStdout(/never/, 30)).rejects.toThrow('port=17');
    running.kill();
    await expect(running.waitForStdout(/never/)).rejects.toThrow('port=17');
  });

  test('is stopped with SIGTERM, and with SIGKILL when it does not listen', async () => {
    const polite = run(`process.on("SIGTERM", () => process.exit(7)); console.log("ready"); ${idle}`);
    await polite.waitForStdout(/ready/);
    expect(await polite.stop()).toEqual({ code: 7, signal: null });
    const stubborn = run(`process.on("SIGTERM", () => {}); console.log("ready"); ${idle}`);
    await stubborn.waitForStdout(/ready/);
    expect(await stubborn.exitsWithin(30)).toBeUndefined();
    expect(await stubborn.stop(50)).toEqual({ code: null, signal: 'SIGKILL' });
  });

  test('that cannot be started says why', async () => {
    const running = startProcess('/does/not/exist', []);
    await running.exited;
    expect(running.stderr()).toContain('ENOENT');
    await expect(running.waitForStdout(/x/)).rejects.toThrow('ENOENT');
  });
});
