import { expect, test } from 'vitest';
import type { TaskClient } from '../../support/real-client-v1.ts';
import { callTool, type Pair } from './pair.ts';
import { steady, TASK } from './volatile.ts';

/** Tasks of revision 2025-11-25, in both directions. */
export function everythingTasks(openPair: () => Promise<Pair<TaskClient>>): void {
  test('a tool that runs as a task asks the user meanwhile, and its result is fetched', async () => {
    await using pair = await openPair();
    pair.answers.elicitation = { action: 'accept', content: { interpretation: 'historical' } };
    const { direct, through } = await pair.bothAtOnce((client) =>
      client.callToolAsTask('simulate-research-query', { topic: 'engines', ambiguous: true }),
    );
    // How often the state is seen in between depends on the clock; the first and the last message do not.
    expect(through[0]).toMatchObject({ type: 'taskCreated', task: { pollInterval: 1000, ttl: 300_000 } });
    expect(steady(through.at(-1), TASK)).toEqual(steady(direct.at(-1), TASK));
    expect(through.at(-1)).toMatchObject({ type: 'result' });
    expect(JSON.stringify(through.at(-1))).toContain('engines (historical)');
  });

  test.for([
    ['trigger-sampling-request-async', { prompt: 'Hello' }, 'an answer of the model'],
    ['trigger-elicitation-request-async', {}, 'Name: Ada Lovelace'],
  ] as const)('%s lets the client run the request as a task', async ([tool, args, shows]) => {
    await using pair = await openPair();
    const { direct, through } = await pair.both((client) => callTool(client, tool, args));
    expect(steady(through, TASK)).toEqual(steady(direct, TASK));
    expect(JSON.stringify(steady(through, TASK))).toContain(shows);
    expect(JSON.stringify(steady(through, TASK))).toContain('Task created: <task>');
  });
}
