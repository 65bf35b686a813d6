import { describe } from 'vitest';
import { everythingSuite } from './real-servers/everything-suite.ts';

describe.for(['streamable_http', 'sse'] as const)('server-everything over %s behind the adapter', (transport) => {
  everythingSuite('one process', transport);
});
