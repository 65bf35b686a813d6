import { z } from 'zod';
import type { ControlMessage } from './message-bus.ts';

const session = { serverId: z.string(), sessionId: z.string() };

const schema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('session-ended'), ...session }),
  z.object({ type: z.literal('upstream-closed'), ...session, generation: z.number() }),
  z.object({ type: z.literal('stream-opened'), ...session, generation: z.number(), reader: z.string() }),
  z.object({ type: z.literal('stream-coming'), ...session, stream: z.string() }),
  z.object({
    type: z.literal('stream-settled'),
    ...session,
    stream: z.string(),
    client: z.string(),
    isOpen: z.boolean(),
  }),
  z.object({ type: z.literal('drop-get'), ...session, except: z.string() }),
  z.object({ type: z.literal('cancelled'), ...session, requestId: z.string() }),
  z.object({ type: z.literal('notify'), ...session, text: z.string() }),
]) satisfies z.ZodType<ControlMessage>;

/** A control message as another replica sent it; undefined for one that this release does not know. */
export function parseControlMessage(text: string): ControlMessage | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
