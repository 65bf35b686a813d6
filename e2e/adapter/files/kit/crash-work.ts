import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { contentOf, sha256Of } from '../../../support/file-tools.ts';
import { asObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { drain, openSession, type Place, type Session } from '../../kit/session.ts';
import { readResource, resourceUris } from './artifacts.ts';
import { asUploads, type FormFile, upload } from './uploads.ts';

/** `uploads.ttl_seconds`: long enough for a replica to start again, and short enough for the cleanup to have work. */
export const UPLOAD_TTL_SECONDS = 15;
/** `sessions.max_total_session_size`: so little that every round evicts, uploads first, also new ones. */
export const SESSION_BYTES = 1_200_000;

/** So often everything is done in each round. */
const TURNS = 3;

/** The name says what must be in the file. */
const nameOf = (seed: string, size: number): string => `${seed}-${size}.bin`;
const contentOfName = (name: string): Buffer => {
  const [, seed = '', size = ''] = /^(.*)-(\d+)\.bin$/.exec(name) ?? [];
  return contentOf(seed, Number(size));
};

/** Two sessions whose quotas are always full, and everything that their client was ever given. */
export class Clients {
  readonly sessions: readonly Session[];
  readonly #given: string[] = [];
  /** Also those that may have ended. */
  readonly #opened = new Map<string, Session>();
  readonly #random: () => number;
  #files = 0;

  private constructor(sessions: readonly Session[], random: () => number) {
    this.sessions = sessions;
    this.#random = random;
    for (const session of sessions) this.#opened.set(session.sessionId, session);
  }

  static async at(place: Place, random: () => number): Promise<Clients> {
    return new Clients([await openSession(place), await openSession(place)], random);
  }

  /**
   * Uploads, captures and ends sessions, all at once and through all places in turn. Failures are expected. Resolves with
   * the time that it took, in milliseconds.
   */
  async work(places: readonly Place[]): Promise<number> {
    const began = performance.now();
    const tasks: Promise<unknown>[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      const place = places[turn % places.length] as Place;
      for (const session of this.sessions) {
        tasks.push(this.#upload(place, session), this.#capture(place, session));
      }
      tasks.push(this.#passBy(place));
    }
    await Promise.allSettled(tasks);
    return performance.now() - began;
  }

  /** Whatever can be had is whole: all that the clients were given, and all that lies on the disk. Returns how much. */
  async check(place: Place, root: string): Promise<number> {
    let had = 0;
    for (const session of this.sessions) {
      const door = session.at(place);
      const lying = await readdir(join(root, 'uploads/sessions', session.sessionId)).catch(() => []);
      const given = this.#given.filter((handle) => handle.includes(session.sessionId)).slice(-12);
      const unknown = lying.map((id) => `upload://sessions/${session.sessionId}/${id}`);
      for (const handle of new Set([...given, ...unknown])) {
        const message = await door.tool('read_file', { path: handle });
        const { result } = message;
        if (result === undefined) throw new Error(JSON.stringify(message));
        const { isError, structuredContent } = asObject(result);
        if (isError === true) {
          // It may be gone, and then the adapter says so; a tool must never look for a file in vain.
          expect(JSON.stringify(result)).toContain('up_get_upload_url');
          continue;
        }
        const [file] = asObject(structuredContent).files as [{ path: string; sha256: string }];
        const name = file.path.split('/').at(-1) ?? '';
        expect([name, file.sha256]).toEqual([name, sha256Of(contentOfName(name))]);
        had += 1;
      }
      for (const uri of await resourceUris(door)) {
        const name = uri.split('/').at(-1) ?? '';
        const bytes = await readResource(door, uri);
        // The cleanup may have come in between; half a file never.
        if (bytes === undefined) continue;
        expect([name, bytes.equals(contentOfName(name))]).toEqual([name, true]);
        had += 1;
      }
    }
    return had;
  }

  /** Uploads on the disk that no client can have, as `session/file`. */
  async unclaimed(place: Place, root: string): Promise<string[]> {
    const folder = join(root, 'uploads/sessions');
    const found: string[] = [];
    for (const sessionId of await readdir(folder)) {
      const door = this.#opened.get(sessionId)?.at(place);
      for (const id of await readdir(join(folder, sessionId)).catch(() => [])) {
        const answer = await door?.tool('read_file', { path: `upload://sessions/${sessionId}/${id}` });
        const { structuredContent } = asObject(answer?.result);
        if (structuredContent === undefined) found.push(`${sessionId}/${id}`);
      }
    }
    return found;
  }

  #next(prefix: string): { seed: string; size: number } {
    this.#files += 1;
    return { seed: `${prefix}${this.#files}`, size: 5_000 + Math.floor(this.#random() * 55_000) };
  }

  #someFiles(): FormFile[] {
    return Array.from({ length: 1 + Math.floor(this.#random() * 3) }, () => {
      const { seed, size } = this.#next('u');
      return { name: nameOf(seed, size), bytes: contentOf(seed, size) };
    });
  }

  async #upload(place: Place, session: Session): Promise<void> {
    const response = await upload(place, session.sessionId, this.#someFiles());
    const body = asObject(await response.json());
    if (response.status !== 200) return;
    this.#given.push(...asUploads(body).map(({ handle }) => handle));
  }

  async #capture(place: Place, session: Session): Promise<void> {
    const { seed, size } = this.#next('a');
    await session.at(place).tool('write_file', { output_path: nameOf(seed, size), seed, size });
  }

  /** A client that leaves again, with its files. */
  async #passBy(place: Place): Promise<void> {
    const session = await openSession(place);
    this.#opened.set(session.sessionId, session);
    await this.#upload(place, session);
    await drain(session.at(place).end());
  }
}
