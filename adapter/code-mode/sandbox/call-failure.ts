/** Why a call has failed, for the code that made it: beside the words, what an error of the protocol says (JSON texts). */
export class CallFailure extends Error {
  readonly code: string | undefined;
  readonly data: string | undefined;

  constructor(
    message: string,
    { code, data }: { readonly code?: string | undefined; readonly data?: string | undefined },
  ) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** What the code is told of a failure: an object (JSON text) with `message` and, where they are known, `code` and `data`. */
export function failureText(error: unknown, maxBytes: number): string {
  const message = error instanceof Error ? error.message : String(error);
  const { code, data } = error instanceof CallFailure ? error : {};
  const text = (more: string): string => `{"message":${JSON.stringify(message.slice(0, maxBytes))}${more}}`;
  const coded = code === undefined ? '' : `,"code":${code}`;
  const whole = text(data === undefined ? coded : `${coded},"data":${data}`);
  return Buffer.byteLength(whole) <= maxBytes ? whole : text(coded);
}
