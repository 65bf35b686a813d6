import type { Answer } from '../exchange/answers/answer.ts';
import type { ResponseHead } from '../exchange/upstream.ts';
import type { Ending } from './ending.ts';
import type { Reply } from './reply.ts';
import { ReplyMessage } from './reply-message.ts';

/** The head of what the adapter answers by itself. */
const OWN_HEAD: ResponseHead = {
  status: 200,
  headers: { 'content-type': 'application/json' },
  upstreamSessionId: null,
};

/** Answers a request with a result (JSON text) without the upstream; bytes are shared with others who get the same. */
export async function answer(reply: Reply, idText: string, result: Answer | Buffer, ending: Ending): Promise<void> {
  reply.head(OWN_HEAD);
  const message = Buffer.isBuffer(result)
    ? ReplyMessage.sharedResult(idText, result)
    : ReplyMessage.result(idText, result);
  await reply.message(message);
  await reply.end(ending);
}
