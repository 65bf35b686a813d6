import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Door, Place } from '../../kit/session.ts';

/** `_meta.artifact` of a tool's result. */
export interface Artifact {
  readonly uri: string;
  readonly id: string;
  readonly filename: string;
  readonly mimeType: string;
  readonly size: number;
  readonly downloadUrl: string | undefined;
}

/** What a tool's answer says of the file that was kept. Throws with the answer when it says nothing. */
export function artifactOf(message: JsonObject): Artifact {
  const { artifact } = asObject(asObject(message.result)._meta);
  if (artifact === undefined) throw new Error(`no artifact: ${JSON.stringify(message).slice(0, 2_000)}`);
  const said = asObject(artifact);
  return {
    uri: String(said.artifact_uri),
    id: String(said.artifact_id),
    filename: String(said.filename),
    mimeType: String(said.mime_type),
    size: Number(said.size_bytes),
    downloadUrl: typeof said.download_url === 'string' ? said.download_url : undefined,
  };
}

/** `_meta.artifact_error` of a tool's result; undefined when there is none. */
export const artifactError = (message: JsonObject): unknown => asObject(asObject(message.result)._meta).artifact_error;

/** What every server has that takes uploads. */
const WORKFLOW = 'doc://upload_workflow.md';

/** URIs of the artifacts that a session is offered as resources. */
export async function resourceUris(door: Door): Promise<string[]> {
  const { result } = await door.call('resources/list', {});
  const { resources } = asObject(result);
  const uris = (Array.isArray(resources) ? resources : []).map((resource) => String(asObject(resource).uri));
  return uris.filter((uri) => uri !== WORKFLOW);
}

/** The bytes of a resource; undefined when there is none. */
export async function readResource(door: Door, uri: string): Promise<Buffer | undefined> {
  const { result } = await door.call('resources/read', { uri });
  const { contents } = asObject(result);
  const { text, blob } = asObject(Array.isArray(contents) ? contents[0] : undefined);
  if (typeof blob === 'string') return Buffer.from(blob, 'base64');
  return typeof text === 'string' ? Buffer.from(text) : undefined;
}

/** A URL as the adapter gave it out, at another replica. */
export function at(place: Place, url: string | undefined): string {
  const { pathname, search } = new URL(url ?? 'no URL');
  return place.url + pathname + search;
}

export async function bytesOf(response: Response | Promise<Response>): Promise<Buffer> {
  return Buffer.from(await (await response).arrayBuffer());
}
