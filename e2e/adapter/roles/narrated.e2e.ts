import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { type Crew, startCrew } from '../files/kit/crew.ts';
import { mounted } from '../kit/deployment.ts';
import { EventReader, isMethod } from '../kit/events.ts';
import { openSession } from '../kit/session.ts';
import { noPathIn } from './kit/no-path.ts';
import { ROLES, saidBy, textFile } from './kit/roles.ts';

const FORMS = 45;
let crew: Crew;

beforeAll(async () => {
  const narrate = (role: string): JsonObject => ({ type: 'files', tools: ['narrate'], arguments: { path: role } });
  crew = await startCrew({
    replicas: 2,
    servers: (url) => ['in', 'edit', 'out'].map((role) => mounted(role, url, { adapters: [narrate(role), ...ROLES] })),
  });
});
afterAll(() => crew?.[Symbol.asyncDispose]());

describe.each(['in', 'edit', 'out'])('a path that a tool was given as %s', (role) => {
  test('does not reach the client while the call runs', async () => {
    const session = await openSession(crew.at(0), { path: `/mcp/${role}` });
    const path = role === 'out' ? 'name.txt' : await textFile(session.at(crew.at(0)), 'mine\n');
    const own = new EventReader(await session.at(crew.at(1)).stream());
    const params = { name: 'narrate', arguments: { path }, _meta: { progressToken: 'token' } };
    const call = new EventReader(await session.at(crew.at(0)).request('tools/call', params));
    const [progress, log, result] = (await call.rest()) as [JsonObject, JsonObject, JsonObject];
    expect(progress).toMatchObject({ method: 'notifications/progress', params: { progressToken: 'token' } });
    expect(log).toMatchObject({ method: 'notifications/message', params: { level: 'info' } });
    expect(saidBy(result)).toContain('done');
    const { message } = progress['params'] as { message: string };
    expect(message.split('\n').length).toBeGreaterThanOrEqual(FORMS);
    // What a result calls it, so that a model knows which file is meant.
    expect(message).toContain(`[x](${path})`);
    expect(log).toMatchObject({ params: { data: { path } } });

    // What comes on the stream of the session belongs to no call that is known there.
    const unasked = await own.message(isMethod('notifications/message'));
    expect((unasked['params'] as { data: string[] }).data).toContain('[x]((folder))');
    for (const one of [progress, log, result, unasked]) noPathIn(one, crew.root, session);
    expect((await session.at(crew.at(1)).end()).status).toBe(200);
  });
});
