import { contentOf, sha256Of } from '../../../support/file-tools.ts';
import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Place } from '../../kit/session.ts';

/** A file as a client sends it. */
export interface FormFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Content-Type of the part. Default: none of its own. */
  readonly type?: string;
}

export interface UploadOptions {
  /** Default: `up`. */
  readonly server?: string;
  readonly headers?: Record<string, string>;
  /** Fields `sha256`, after the files. */
  readonly sha256?: readonly string[];
  readonly signal?: AbortSignal;
}

/** A file of `contentOf`. */
export const formFile = (name: string, size = 1_000, seed = name): FormFile => ({ name, bytes: contentOf(seed, size) });

/** Posts files for a session; without one the header is left out. */
export function upload(
  place: Place,
  sessionId: string | undefined,
  files: readonly FormFile[],
  options: UploadOptions = {},
): Promise<Response> {
  const { server = 'up', headers } = options;
  const session = sessionId === undefined ? undefined : { 'mcp-session-id': sessionId };
  return uploadTo(`${place.url}/upload/${server}`, files, { ...options, headers: { ...session, ...headers } });
}

/** Posts files to a URL that was handed out. */
export function uploadTo(url: string, files: readonly FormFile[], options: UploadOptions = {}): Promise<Response> {
  const form = new FormData();
  for (const { name, bytes, type } of files) {
    form.append('file', new Blob([Uint8Array.from(bytes)], type === undefined ? {} : { type }), name);
  }
  for (const hash of options.sha256 ?? []) form.append('sha256', hash);
  return fetch(url, { method: 'POST', body: form, headers: options.headers, signal: options.signal });
}

/** What a client holds of a file that was taken. */
export interface Uploaded {
  readonly handle: string;
  readonly id: string;
  readonly filename: string;
  readonly size: number;
  readonly sha256: string;
}

/** Uploads files and resolves with what the answer says of them. Rejects when they are not taken. */
export async function uploaded(
  place: Place,
  sessionId: string,
  files: readonly FormFile[],
  options?: UploadOptions,
): Promise<Uploaded[]> {
  const response = await upload(place, sessionId, files, options);
  const body = asObject(await response.json());
  if (response.status !== 200) throw new Error(`HTTP ${response.status} ${JSON.stringify(body)}`);
  return asUploads(body);
}

/** Uploads one file of `contentOf`. */
export async function uploadedOne(place: Place, sessionId: string, name: string, size?: number): Promise<Uploaded> {
  const [one] = await uploaded(place, sessionId, [formFile(name, size)]);
  if (one === undefined) throw new Error('the answer names no file');
  return one;
}

export const asUploads = (body: JsonObject): Uploaded[] =>
  (body.uploads as JsonObject[]).map((one) => ({
    handle: String(one.upload_handle),
    id: String(one.upload_id),
    filename: String(one.filename),
    size: Number(one.size_bytes),
    sha256: String(one.sha256),
  }));

/** What reading tools say of a file of `contentOf`. */
export const contentSeen = (name: string, size = 1_000, seed = name): JsonObject => ({
  size,
  sha256: sha256Of(contentOf(seed, size)),
});

/** Status and body of an answer of the HTTP routes, to be compared as a whole. */
export async function statusAndBody(answer: Response | Promise<Response>): Promise<[number, unknown]> {
  const response = await answer;
  const text = await response.text();
  return [response.status, text.startsWith('{') ? JSON.parse(text) : text];
}
