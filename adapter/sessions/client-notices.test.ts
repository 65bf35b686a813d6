import { expect, test } from 'vitest';

import type { ControlMessage } from '../state/message-bus.ts';
import { ClientNotices } from './client-notices.ts';

const session = { serverId: 's1', sessionId: 'a' };

test('notices go to the session, wherever its stream is', async () => {
  const sent: ControlMessage[] = [];
  const notices = new ClientNotices({ publish: async (message) => void sent.push(message) }, () => undefined);
  notices.resourcesChanged(session);
  notices.elicitationComplete({ ...session, sessionId: 'b' }, 'e1');
  expect(sent).toEqual([
    {
      type: 'notify',
      ...session,
      text: '{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}',
    },
    {
      type: 'notify',
      serverId: 's1',
      sessionId: 'b',
      text: '{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1"}}',
    },
  ]);
});

test('a bus that is down is told about and nothing else', async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const down = new Error('down');
  new ClientNotices({ publish: () => Promise.reject(down) }, resolve).resourcesChanged(session);
  expect(await promise).toBe(down);
});
