import type { Ask } from '../path/step.ts';
import type { UpstreamRequest } from '../exchange/upstream.ts';
import type { Mount } from './mount.ts';

/** The end of the way: the upstream, with what it is to be sent. */
export function askUpstream({ upstream, headers }: Pick<Mount, 'upstream' | 'headers'>): Ask {
  return (operation, sink) => {
    const { method, isGet, isSessionless, caller, trace, lastEventId } = operation;
    const request: UpstreamRequest = {
      method,
      session: isSessionless ? undefined : (operation.record ?? operation.opening),
      headers: operation.sentHeaders ?? headers.forward(method, caller.headers, isSessionless),
      body: isGet ? undefined : operation.sent,
      lastEventId,
      isBridged: operation.isBridged,
      exchange: operation.exchange,
      resumed: operation.resumed,
      principal: caller.principal,
      holder: caller.holder,
    };
    (trace === undefined ? upstream : trace.of(upstream)).send(request, sink);
  };
}
