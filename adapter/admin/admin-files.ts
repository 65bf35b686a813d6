import { Refusal } from '../../lib/http/answer.ts';
import type { FileDiscard } from '../sessions/session-files.ts';
import { type FileRecord, type FileRecords, heldBytes, versionOf } from '../state/file-records.ts';
import { fileHandle, isHandle, sessionHandle } from './handles.ts';
import { openText, sealText } from '../sealed-text.ts';
import { limitOf } from './paging.ts';

export interface AdminFilesDeps {
  readonly records: Pick<FileRecords, 'page' | 'remove' | 'totals'>;
  /** Removes bytes; undefined where nothing stores files. */
  readonly bytes: Pick<FileDiscard, 'discard'> | undefined;
  /** Where a page ended says the id of a session, so it is sealed; the same at all replicas. */
  readonly secret: () => string;
}

export interface ListedFile {
  readonly file: string;
  readonly session: string;
  readonly server_id: string;
  readonly kind: 'upload' | 'artifact';
  readonly filename: string;
  readonly mime_type: string;
  /** With its earlier versions. */
  readonly bytes: number;
  readonly version: number;
  readonly tool: string | null;
  readonly in_use: boolean;
  readonly created_at: string;
  readonly last_used_at: string;
}

const PAGE = 500;
/** What it was sealed for. */
const CURSOR = 'admin-files-cursor';

/** The files of all sessions, for who operates the adapter. */
export class AdminFiles {
  readonly #deps: AdminFilesDeps;

  constructor(deps: AdminFilesDeps) {
    this.#deps = deps;
  }

  /** `?cursor=` and `?limit=`; `next_cursor` is null on the last page. A page may be a little longer or shorter. */
  async page(query: URLSearchParams): Promise<{ files: ListedFile[]; next_cursor: string | null }> {
    const { records, secret } = this.#deps;
    const sealed = query.get('cursor');
    const cursor = sealed === null ? undefined : openText(secret(), CURSOR, sealed);
    if (sealed !== null && cursor === undefined) throw new Refusal(400, 'cursor is not one of an earlier page');
    const { files, next } = await records.page(cursor, limitOf(query));
    return { files: files.map(listed), next_cursor: next === undefined ? null : sealText(secret(), CURSOR, next) };
  }

  /** Removes a file with its bytes, also one that is in use. False: none is called so. */
  async remove(handle: string): Promise<boolean> {
    const { records, bytes } = this.#deps;
    if (!isHandle(handle)) throw new Refusal(400, 'A file is named by 16 hexadecimal digits, as in the list');
    let cursor: string | undefined;
    do {
      const { files, next } = await records.page(cursor, PAGE);
      const found = files.find((file) => fileHandle(file) === handle);
      if (found !== undefined) {
        const removed = await records.remove(found);
        if (removed === undefined) return false;
        await bytes?.discard([removed], 'session_ended');
        return true;
      }
      cursor = next;
    } while (cursor !== undefined);
    return false;
  }
}

function listed(file: FileRecord): ListedFile {
  return {
    file: fileHandle(file),
    session: sessionHandle(file),
    server_id: file.serverId,
    kind: file.kind,
    filename: file.filename,
    mime_type: file.mimeType,
    bytes: heldBytes(file),
    version: versionOf(file),
    tool: file.toolName,
    in_use: file.leaseUntil > 0,
    created_at: new Date(file.createdAt).toISOString(),
    last_used_at: new Date(file.lastUsedAt).toISOString(),
  };
}
