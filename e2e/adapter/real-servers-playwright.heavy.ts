import { describe } from 'vitest';
import { playwrightSuite } from './real-servers/playwright-suite.ts';

describe.for(['streamable_http', 'sse'] as const)('a browser over %s behind the adapter', (transport) => {
  playwrightSuite('one process', transport, ['v1', 'v2']);
});
