import { upstreamNotJson } from '../errors.ts';
import { asEventData, eventText } from '../exchange/answers/event-text.ts';
import type { Frame } from '../exchange/scanning/sse-frames.ts';
import type { ReplyMessage } from '../path/reply-message.ts';

export const NO_FRAME: Frame = { raw: '', data: undefined, id: undefined, event: undefined, retry: undefined };

/**
 * A whole message as an event; '' when there is nothing of it. What came as an event may stand in one.
 * @throws AdapterError where what has been made of it is no JSON
 */
export function messageEvent({ frame = NO_FRAME, body, isChanged }: ReplyMessage): string {
  if (body === '') return eventText(frame, frame.data);
  const text = isChanged ? asEventData(body as string) : (body as string);
  if (text === undefined) throw upstreamNotJson();
  return eventText(frame, text);
}
