import type { AdminSettings } from './admin-settings.ts';
import { bearerToken } from './bearer-token.ts';
import { HttpServer, type HttpServerOptions } from './http-server.ts';
import { notLocal } from './local-request.ts';
import type { Route } from './route.ts';

/** The one address at which nobody outside of the pod answers. */
const LOOPBACK = '127.0.0.1';
/** For a route to answer: what is asked for may take an upstream's time, and must not take for ever. */
const ANSWER_MS = 25_000;

export interface AdminPort {
  /** The URL; undefined where the port could not be opened, which is logged: nobody's calls depend on it. */
  readonly url: string | undefined;
  close(): Promise<void>;
}

export interface AdminPortOptions extends Pick<HttpServerOptions, 'onRequest'> {
  readonly logger: HttpServerOptions['logger'] & { warn(attributes: object, message: string): void };
}

/** Opens the port for who operates the program: on the loopback address, with the key, and not for pages. */
export async function openAdminPort(
  { port, key }: AdminSettings,
  routes: readonly Route[],
  { logger, onRequest }: AdminPortOptions,
): Promise<AdminPort> {
  const server = new HttpServer({
    open: [],
    admin: { routes, hasToken: bearerToken(key), names: 'name' },
    logger,
    refuses: notLocal,
    answerMs: ANSWER_MS,
    ...(onRequest !== undefined && { onRequest }),
  });
  const close = (): Promise<void> => server.close();
  try {
    return { url: await server.listen(LOOPBACK, port), close };
  } catch (error) {
    logger.warn({ err: error, port }, 'the admin port cannot be opened: something else in the pod may have it');
    return { url: undefined, close };
  }
}
