import { z } from 'zod';
import { AdapterError } from '../../errors.ts';
import type { ControlMessage } from '../message-bus.ts';
import { MAX_CONTROL_CHARS } from '../../limits.ts';

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
  z.object({ type: z.literal('subscribed'), ...session, uri: z.string(), isOn: z.boolean() }),
  z.object({ type: z.literal('lists-changed'), ...session, sessionId: z.literal('') }),
  z.object({
    type: z.literal('changes-untold'),
    ...session,
    sessionId: z.literal(''),
    changes: z
      .array(z.enum(['toolsListChanged', 'promptsListChanged', 'resourcesListChanged', 'resourceSubscriptions']))
      .readonly(),
  }),
  z.object({ type: z.literal('drop-get'), ...session, except: z.string() }),
  z.object({ type: z.literal('cancelled'), ...session, requestId: z.string() }),
  z.object({ type: z.literal('notify'), ...session, text: z.string() }),
]) satisfies z.ZodType<ControlMessage>;
/** One that the schema lacks would reach no other replica. */
true satisfies ControlMessage extends z.output<typeof schema> ? true : false;

/** The message as other replicas get it. Throws when it is too large for them. */
export function controlText(message: ControlMessage): string {
  const text = JSON.stringify(message);
  if (text.length <= MAX_CONTROL_CHARS) return text;
  throw new AdapterError('upstream_failed', 'A message is too large for the other replicas.');
}

/** A control message as another replica sent it; undefined for one that this release does not know, or would not send. */
export function parseControlMessage(text: string): ControlMessage | undefined {
  if (text.length > MAX_CONTROL_CHARS) return undefined;
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
