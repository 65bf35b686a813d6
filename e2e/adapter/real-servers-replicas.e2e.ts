import { describe } from 'vitest';
import { everythingSuite } from './real-servers/everything-suite.ts';
import { playwrightSuite } from './real-servers/playwright-suite.ts';

const TWO = 'two replicas behind a round-robin balancer';

describe.for(['streamable_http', 'sse'] as const)(`over %s, behind ${TWO},`, (transport) => {
  describe('server-everything', () => {
    everythingSuite(TWO, transport);
  });
  describe('a browser', () => {
    playwrightSuite(TWO, transport);
  });
});
