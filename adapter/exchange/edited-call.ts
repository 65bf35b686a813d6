import type { Body, Request } from './message.ts';

/** The body of a single request whose text was edited. */
export function editedCall(request: Request, text: string): Body {
  const { params = {} } = JSON.parse(text) as { params?: Request['params'] };
  return { bytes: Buffer.from(text), text, messages: [{ ...request, params }], batch: false };
}

/** A result that a model can read: what went wrong, and what it can do about it. */
export function errorResult(text: string): string {
  return JSON.stringify({ content: [{ type: 'text', text }], isError: true });
}
