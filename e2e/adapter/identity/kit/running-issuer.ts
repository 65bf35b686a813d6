import { createServer } from 'node:http';
import { SampleIssuer, type SampleKey } from '../../../../adapter/identity/testing/sample-issuer.ts';
import { listen } from '../../../support/ports.ts';

/** An issuer whose keys the test turns. */
export async function startIssuer(...keys: SampleKey[]) {
  const issuer = new SampleIssuer(...keys);
  let reads = 0;
  const server = createServer((req, res) => {
    const isKeys = req.url === '/keys';
    if (isKeys) reads += 1;
    if (issuer.isAway) {
      res.writeHead(503).end();
      return;
    }
    const jwks = { keys: issuer.keys.map(({ jwk }) => jwk) };
    res.writeHead(isKeys ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(jwks));
  });
  const url = `http://127.0.0.1:${await listen(server)}`;
  return {
    issuer,
    url,
    get reads() {
      return reads;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => void server.close(() => resolve()));
    },
  };
}

export type RunningIssuer = Awaited<ReturnType<typeof startIssuer>>;
