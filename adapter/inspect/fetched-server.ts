import type { Redact } from '../../lib/redaction/redact.ts';
import { capped, withEscapes } from '../catalog/visible-text.ts';
import type { FetchedServer } from '../lock/lock-command.ts';
import type { Mount } from '../mount/mount.ts';
import { serverListsOf } from './server-lists-of.ts';
import { whyNot } from './why-not.ts';

/** What a server says may be of any length. */
const MAX_CHARS = 500;

/** What a server has that a lock counts, or why it did not say, without secrets. Does not reject. */
export async function fetchedServer(mount: Mount, timeoutMs: number, redact: Redact): Promise<FetchedServer> {
  const server = mount.serverId;
  try {
    return { server, lists: await serverListsOf(mount, timeoutMs) };
  } catch (error) {
    return { server, failure: shown(await whyNot(mount, error, 'not all of it can be listed'), redact) };
  }
}

/** On one line, without secrets. They go first: of what is cut, half a secret must not be left. */
const shown = (text: string, redact: Redact): string => capped(withEscapes(redact(text)), MAX_CHARS);
