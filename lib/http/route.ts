import { type Answer, Refusal } from './answer.ts';

/** What a route is told of a request. */
export interface Call {
  /** What stands at `{name}`, decoded; empty where the path has none. */
  readonly name: string;
  readonly query: URLSearchParams;
  /** The body as it was sent. */
  readonly body: Buffer;
  /** In lower case and without parameters; empty: none was sent. */
  readonly contentType: string;
}

export interface Route {
  readonly method: 'GET' | 'POST';
  /** Such as `/sources/{name}/runs`. */
  readonly path: string;
  readonly answer: (call: Call) => Answer | Promise<Answer>;
  /** The longest body that it takes. Default: a few words. */
  readonly maxBodyBytes?: number;
}

/** A route, and what stands at its `{name}`. */
export interface Found {
  readonly route: Route;
  readonly name: string;
}

const NAME = '{name}';

/**
 * The route of a request; undefined when nothing has this path. A slash at the end does not count. Paths are compared as
 * they were sent, without resolving `..`, so that nothing has two addresses.
 *
 * @throws Refusal when the path is there, but not for this method, or the name in it is not encoded as it must be
 */
export function findRoute(routes: readonly Route[], method: string, path: string): Found | undefined {
  const sent = segments(path);
  const here = routes.filter((route) => fits(segments(route.path), sent));
  if (here.length === 0) return undefined;
  const route = here.find((one) => one.method === (method === 'HEAD' ? 'GET' : method));
  if (route === undefined) throw new Refusal(405, 'Method Not Allowed', { Allow: allowed(here) });
  const place = segments(route.path).indexOf(NAME);
  return { route, name: place < 0 ? '' : decoded(sent[place] ?? '') };
}

const segments = (path: string): string[] => path.replace(/(?<=.)\/$/, '').split('/');

const fits = (pattern: readonly string[], sent: readonly string[]): boolean =>
  pattern.length === sent.length &&
  pattern.every((segment, index) => (segment === NAME ? sent[index] !== '' : segment === sent[index]));

const allowed = (routes: readonly Route[]): string =>
  routes.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])).join(', ');

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new Refusal(400, 'The name in the path is not percent-encoded UTF-8');
  }
}
