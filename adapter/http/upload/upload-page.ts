import { hash } from 'node:crypto';

import type { AdapterError } from '../../errors.ts';
import { MAX_FILES } from '../../files/uploads/upload-form.ts';
import type { FileRecord } from '../../state/file-records.ts';
import { Html, markup } from './upload-page-html.ts';
import { UPLOAD_PAGE_SCRIPT } from './upload-page-script.ts';
import { UPLOAD_PAGE_STYLE } from './upload-page-style.ts';

/** Nothing may come between the tags and what is hashed. */
const SCRIPT_ELEMENT = new Html(`<script>${UPLOAD_PAGE_SCRIPT}</script>`);
const STYLE_ELEMENT = new Html(`<style>${UPLOAD_PAGE_STYLE}</style>`);
const hashOf = (text: string): string => `'sha256-${hash('sha256', text, 'base64')}'`;

/** Of every page here. No byte comes from elsewhere, nothing else runs, and nobody shows it in a frame. */
export const PAGE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `script-src ${hashOf(UPLOAD_PAGE_SCRIPT)}`,
    `style-src ${hashOf(UPLOAD_PAGE_STYLE)}`,
    "connect-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; '),
  // The URL is a permission. A form that is sent without a referrer would have no Origin either.
  'referrer-policy': 'same-origin',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
};

/** Who asks for files. */
interface Asking {
  readonly serverId: string;
  readonly toolName: string | null;
}

export interface UploadPageView extends Asking {
  readonly maxFileBytes: number;
  readonly requireSha256: boolean;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly now: number;
}

/** The page of a signed upload URL that is still good. */
export function uploadPage(view: UploadPageView): string {
  const until = new Date(view.expiresAt).toISOString();
  const hashField = markup`<p class="field" id="hash">
    <label for="sha256">SHA-256 of the file</label>
    <input type="text" id="sha256" name="sha256" autocomplete="off" spellcheck="false" aria-describedby="hash-note" />
    <span class="quiet" id="hash-note">This server asks for it: 64 hexadecimal digits.</span>
  </p>`;
  return page(
    'Upload files',
    markup`<p>${asking(view)}</p>
      <p class="problem" id="problem" role="alert" hidden></p>
      <form
        method="post"
        enctype="multipart/form-data"
        data-max-bytes="${view.maxFileBytes}"
        data-max-files="${MAX_FILES}"
        data-expires-in-ms="${Math.max(0, view.expiresAt - view.now)}"
        data-hashes="${view.requireSha256 ? 'required' : 'optional'}"
      >
        ${view.requireSha256 ? hashField : undefined}
        <div class="drop" id="drop">
          <label for="files">Choose files</label>
          <input type="file" id="files" name="file" multiple required aria-describedby="limits" />
          <div class="quiet" id="hint" hidden>or drop them on this page</div>
        </div>
        <ul class="files" id="chosen" aria-label="Chosen files"></ul>
        <p class="quiet" id="limits">
          Up to ${sized(view.maxFileBytes)} for each file and ${MAX_FILES} files. This link works once, until
          <time datetime="${until}">${until.slice(0, 19).replace('T', ' ')} UTC</time>.
        </p>
        <button class="main" type="submit">Upload</button>
      </form>
      <div id="sending" hidden>
        <label for="progress">Uploading</label>
        <progress id="progress" max="100" value="0"></progress>
        <p class="quiet" id="percent">0 %</p>
        <ul class="files" id="parts" aria-label="Files that are sent"></ul>
      </div>
      <p id="again" hidden><a href="">See whether the link still works</a></p>`,
  );
}

export interface UploadedPageView extends Asking {
  readonly files: readonly FileRecord[];
  readonly handle: (file: FileRecord) => string;
  /** The query by which the page asks whether its files were taken; see upload-status.ts. */
  readonly status: string | undefined;
}

/** What became of the files: their handles, to be given to whoever asked. */
export function uploadedPage(view: UploadedPageView): string {
  const { files, handle, status } = view;
  const one = files.length === 1;
  const all = markup`<h2>All handles</h2>
    <dl>
      <dt>One on each line</dt>
      <dd><code data-copy="all handles">${files.map(handle).join('\n')}</code></dd>
    </dl>`;
  const names = JSON.stringify(files.map(({ filename }) => filename));
  const taken = markup`<p class="taken" id="taken" role="status" data-status="${status}" data-names="${names}"></p>`;
  return page(
    one ? 'The file is uploaded' : `${files.length} files are uploaded`,
    markup`<p class="done">${asking(view, 'has')} You can close this page.</p>
      ${status === undefined ? undefined : taken}
      <p>Give the ${one ? 'handle' : 'handles'} to your assistant if it asks for ${one ? 'it' : 'them'}.</p>
      ${files.map(
        (file) =>
          markup`<h2>${file.filename}</h2>
            <p class="quiet">${sized(file.sizeBytes)}, ${file.mimeType}</p>
            <dl>
              <dt>Handle</dt>
              <dd><code data-copy="the handle of ${file.filename}">${handle(file)}</code></dd>
              <dt>SHA-256, as the server computed it</dt>
              <dd><code data-copy="the SHA-256 of ${file.filename}">${file.sha256 ?? ''}</code></dd>
            </dl>`,
      )}
      ${one ? undefined : all}`,
  );
}

/** Why nothing was stored. */
export function refusedPage(error: AdapterError): string {
  const isOver = error.code === 'upload_url_invalid';
  return page(
    isOver ? 'This link cannot be used' : 'Nothing was uploaded',
    markup`<p class="problem" role="alert">${error.message}</p>
      <p>
        ${
          isOver
            ? 'Links to this page work once and for a short time. Ask your assistant for a new one.'
            : markup`No file of this upload was kept. <a href="">See whether the link still works</a>, or ask your
                assistant for a new one.`
        }
      </p>`,
  );
}

function asking({ serverId, toolName }: Asking, verb: 'asks' | 'has' = 'asks'): Html {
  const tool = toolName === null ? undefined : markup`, for its tool <strong>${toolName}</strong>`;
  const server = markup`The MCP server <strong>${serverId}</strong>`;
  return verb === 'asks'
    ? markup`${server} asks you for files${tool}.`
    : markup`${server} has what it asked for${tool}.`;
}

function page(title: string, content: Html): string {
  return markup`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main data-upload>
          <h1 tabindex="-1">${title}</h1>
          ${content}
        </main>
        ${SCRIPT_ELEMENT}
      </body>
    </html>`.text;
}

function sized(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10} ${units[power] ?? ''}`;
}
