/** A part of a text that differs between two equal calls, and the name that stands for it in a comparison. */
export type Volatile = readonly [pattern: RegExp, name: string];

/** The server's own session id, which a client must never be shown elsewhere than in such texts. */
export const SESSION: Volatile = [/(?<=\bsession )[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, '<session>'];
/** The time of day at which the server has made a dynamic resource. */
export const CLOCK: Volatile = [/(?<=\bcreated at )\d{1,2}:\d\d:\d\d\s[AP]M/g, '<clock>'];
/** A random id that the server gives to the prerequisite of a call. */
export const ELICITATION: Volatile = [/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/g, '<elicitation>'];
/** Random ids of tasks, of the server's and of the client's. */
export const TASK: Volatile = [/(?<=(?:^|"taskId": "|Task created: ))[0-9a-f]{32}(?="|$|\n)/g, '<task>'];
/** The folder that a browser server has for its files, made anew for every process. */
export const FOLDER: Volatile = [/(?<=\bplaywright-mcp-)[A-Za-z0-9]{6}(?=\/)/g, '<folder>'];
/** The time in the name of a file that a browser server has written. */
export const FILE_TIME: Volatile = [/(?<=\b(?:page|console)-)\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z(?=\.)/g, '<time>'];

/** The value with the volatile parts of all its strings replaced by their names. Nothing else changes. */
export function steady(value: unknown, ...volatile: readonly Volatile[]): unknown {
  if (typeof value === 'string')
    return volatile.reduce((text, [pattern, name]) => text.replaceAll(pattern, name), value);
  if (Array.isArray(value)) return value.map((one) => steady(one, ...volatile));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, steady(one, ...volatile)]));
}

/** The value with the text that is in its base64 blobs, so that volatile parts inside can be seen. */
export function withReadableBlobs(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReadableBlobs);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => {
    const readable =
      key === 'blob' && typeof one === 'string' ? Buffer.from(one, 'base64').toString('utf8') : undefined;
    return [key, readable ?? withReadableBlobs(one)];
  });
  return Object.fromEntries(entries);
}
