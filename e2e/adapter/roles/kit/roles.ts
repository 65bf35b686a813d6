import { asObject, type JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { bytesOf } from '../../files/kit/artifacts.ts';
import type { Door, Place } from '../../kit/session.ts';

/** What the adapter does to the editing tools of `file-tools`. */
export const ROLES: readonly JsonObject[] = [
  { type: 'files', tools: ['append_line', 'spoil'], arguments: { path: { role: 'edit', create: true } } },
  { type: 'files', tools: ['append_to_both'], arguments: { first: 'edit', second: 'edit' } },
  { type: 'files', tools: ['read_*'], arguments: { path: 'in' } },
  { type: 'files', tools: ['copy_text'], arguments: { source: 'in', destination: 'out' } },
  { type: 'files', tools: ['join_texts'], arguments: { 'sources[].path': 'in', output: 'out' } },
  { type: 'files', tools: ['make_report'], arguments: { folder: { role: 'out_dir', max_files: 5 } } },
  { type: 'upload_consumer', tools: ['read_file'], file_path_argument: 'path' },
  { type: 'files', tools: ['write_text', 'write_file'], arguments: { output_path: 'out' } },
];

/** One entry of `_meta.artifacts`. */
export interface Made {
  readonly uri: string;
  readonly filename: string;
  readonly version: number | undefined;
  readonly url: string;
}

/** What a result says of the files that the adapter has kept. Throws with the result when it says nothing. */
export function madeBy(message: JsonObject): Made[] {
  const { artifacts, artifact } = asObject(asObject(message['result'])['_meta']);
  if (!Array.isArray(artifacts)) throw new Error(`no artifacts: ${JSON.stringify(message).slice(0, 2_000)}`);
  if (JSON.stringify(artifacts[0]) !== JSON.stringify(artifact)) throw new Error('the first is another one');
  return artifacts.map((one) => {
    const { artifact_uri: uri, filename, version, download_url: url } = asObject(one);
    return {
      uri: String(uri),
      filename: String(filename),
      version: typeof version === 'number' ? version : undefined,
      url: String(url),
    };
  });
}

/** The only one. */
export function oneOf(message: JsonObject): Made {
  const [made, ...others] = madeBy(message);
  if (made === undefined || others.length > 0) throw new Error(`not one artifact: ${JSON.stringify(message)}`);
  return made;
}

/** Makes a text file with a tool; gives its handle. */
export async function textFile(door: Door, text: string, name = 'notes.txt'): Promise<string> {
  return oneOf(await door.tool('write_text', { output_path: name, text })).uri;
}

/** The text of a download, at any replica. */
export async function downloaded(place: Place, url: string, version?: number): Promise<string> {
  const { pathname, search } = new URL(url);
  const asked = version === undefined ? '' : `&version=${version}`;
  const response = await fetch(place.url + pathname + search + asked);
  if (response.status !== 200) return `HTTP ${response.status}`;
  return (await bytesOf(response)).toString();
}

/** All texts of a result, as one. */
export function saidBy(message: JsonObject): string {
  const { content } = asObject(message['result']);
  const texts = (Array.isArray(content) ? content : []).map((block) => asObject(block)['text']);
  return texts.map((text) => (typeof text === 'string' ? text : '')).join('\n');
}

/** `_meta.artifact_errors` of a result. */
export const problemsOf = (message: JsonObject): unknown =>
  asObject(asObject(message['result'])['_meta'])['artifact_errors'];
