import { describe } from 'vitest';
import { everythingSuite } from './real-servers/everything-suite.ts';
import { playwrightSuite } from './real-servers/playwright-suite.ts';

const TWO = 'two replicas behind a round-robin balancer';

describe.for(['streamable_http', 'sse'] as const)(`over %s, behind ${TWO},`, (transport) => {
  describe('server-everything', () => {
    everythingSuite(TWO, transport);
  });
  describe('a browser', () => {
    // Browsers are slow; what the SDKs do with them, the suite for one process compares.
    playwrightSuite(TWO, transport, transport === 'sse' ? ['v2'] : ['v1']);
  });
});
