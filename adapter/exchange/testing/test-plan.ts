import { AdapterError, knownError } from '../../errors.ts';
import { KeepAlive } from '../keep-alive.ts';
import type { Plan } from '../plan.ts';
import { sampleAccount } from '../../testing/sample-account.ts';
import { RunningExchanges } from '../running.ts';

const SESSION = { serverId: 's1', sessionId: 'session-1', upstreamSessionId: 'upstream-1', generation: 0 };

/** A plan for one request of a session, with some things about it different. */
export function testPlan(needed: Pick<Plan, 'upstream' | 'reply'> & Partial<Plan>): Plan {
  return {
    id: '',
    serverId: 's1',
    request: { method: 'POST', session: SESSION, headers: [], body: undefined },
    requestId: 'request-1',
    keepAlive: new KeepAlive(2 ** 30),
    running: new RunningExchanges(),
    holder: sampleAccount().of({ server: 's1', session: 'session-1' }),
    idTexts: ['1'],
    sessionId: 'session-1',
    timeoutMs: null,
    onTimeout: () => new AdapterError('upstream_timeout'),
    onResponse: undefined,
    onStray: undefined,
    holdHead: false,
    again: undefined,
    onHead: () => undefined,
    onAnswered: undefined,
    onListChanged: undefined,
    noted: undefined,
    known: (error) => knownError(error, () => undefined),
    onFinish: () => undefined,
    ...needed,
  };
}
