import { describe } from 'vitest';
import { everythingSuite } from './real-servers/everything-suite.ts';

const TWO = 'two replicas behind a round-robin balancer';

describe.for(['streamable_http', 'sse'] as const)(`server-everything over %s behind ${TWO}`, (transport) => {
  everythingSuite(TWO, transport);
});
