import type { PageEvent, PageFile, PageForm, PageGlobals, PageNode, PageRequest } from './upload-page-dom.ts';

/*
 * What runs in the browser, on pages that work without it too. It adds dropping, a look at the sizes before anything is
 * sent, progress, buttons to copy, and whether the files were taken; what the server answers is the same page as without
 * it. The source text of these functions is put into the page, so they must refer to nothing but each other.
 */

function at({ document }: PageGlobals, selector: string): PageNode {
  const node = document.querySelector(selector);
  if (node === null) throw new Error(`no ${selector}`);
  return node;
}

function make({ document }: PageGlobals, name: string, className: string, text: string): PageNode {
  const node = document.createElement(name);
  node.className = className;
  node.textContent = text;
  return node;
}

function button(page: PageGlobals, text: string, label: string, onClick: () => void): PageNode {
  const node = make(page, 'button', '', text);
  node.type = 'button';
  node.setAttribute('aria-label', label);
  node.addEventListener('click', onClick);
  return node;
}

function sized(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(bytes) / 10));
  return `${Math.round((bytes / 1024 ** power) * 10) / 10} ${units[power] ?? ''}`;
}

async function copy(page: PageGlobals, code: PageNode, pressed: PageNode): Promise<void> {
  const { clipboard } = page.navigator;
  if (clipboard === undefined) {
    // Pages that came without TLS have no clipboard of their own.
    page.getSelection()?.selectAllChildren(code);
    page.document.execCommand('copy');
  } else {
    await clipboard.writeText(code.textContent ?? '');
  }
  pressed.textContent = 'Copied';
}

function addCopyButtons(page: PageGlobals): void {
  for (const code of page.document.querySelectorAll('code[data-copy]')) {
    const copied = (): void => void copy(page, code, node).catch(() => (node.textContent = 'Not copied'));
    const node = button(page, 'Copy', `Copy ${code.dataset['copy'] ?? ''}`, copied);
    code.after(node);
  }
}

function rest(page: PageGlobals, ms: number): Promise<void> {
  return new Promise((resolve) => void page.setTimeout(resolve, ms));
}

/** `states`: for each name taken (t), waited for (w) or gone (g). */
function showTaken(page: PageGlobals, node: PageNode, names: readonly string[], states: readonly string[]): void {
  const listed = (all: readonly string[]): string => new page.Intl.ListFormat('en').format(all);
  const named = (state: string): string[] => names.filter((_, i) => states[i] === state);
  const [taken, waiting, gone] = [named('t'), named('w'), named('g')];
  const texts = [
    ...(taken.length > 0 ? [`The assistant has taken ${listed(taken)}.`] : []),
    ...(waiting.length > 0 ? [`Waiting for the assistant to take ${listed(waiting)}…`] : []),
    ...(gone.length > 0 ? [`${listed(gone)} ${gone.length === 1 ? 'is' : 'are'} not kept any more.`] : []),
  ];
  node.textContent = texts.join(' ');
  node.classList.toggle('done', waiting.length === 0 && gone.length === 0);
}

/** Asks, until it is known of each file, whether the assistant has taken it. */
async function watchTaken(page: PageGlobals): Promise<void> {
  const node = page.document.querySelector('#taken');
  if (node === null) return;
  const names = JSON.parse(node.dataset['names'] ?? '[]') as string[];
  let states = names.map(() => 'w');
  /** The last answer. */
  let seen = states.join('');
  let failures = 0;
  showTaken(page, node, names, states);
  while (states.includes('w')) {
    try {
      const response = await page.fetch(`${node.dataset['status'] ?? ''}&seen=${seen}`);
      if (response.status >= 400 && response.status < 500 && response.status !== 429) break;
      if (!response.ok) throw new Error(String(response.status));
      const { files } = (await response.json()) as { files: string };
      const isNews = files !== seen;
      seen = files;
      // What was taken stays so, also when it is gone some time later.
      states = states.map((state, i) => (state === 't' ? state : (files[i] ?? state)));
      failures = 0;
      showTaken(page, node, names, states);
      if (!isNews) await rest(page, 3000);
    } catch {
      failures += 1;
      if (failures > 20) break;
      await rest(page, Math.min(15_000, 500 * 2 ** failures));
    }
  }
  if (states.includes('w')) node.textContent = 'Ask the assistant whether it has the files.';
}

/** What is about to be sent. */
interface Chosen {
  files: PageFile[];
  /** Whether it is being sent. */
  isSending: boolean;
}

function complain(page: PageGlobals, text: string): void {
  const problem = at(page, '#problem');
  problem.textContent = text;
  problem.hidden = text === '';
}

function showChosen(page: PageGlobals, chosen: Chosen): void {
  const rows = chosen.files.map((file) => {
    const row = make(page, 'li', '', '');
    const remove = button(page, 'Remove', `Remove ${file.name}`, () => {
      chosen.files = chosen.files.filter((other) => other !== file);
      showChosen(page, chosen);
      at(page, '#files').focus();
    });
    row.append(make(page, 'span', 'name', file.name), make(page, 'span', 'quiet', sized(file.size)), remove);
    return row;
  });
  at(page, '#chosen').replaceChildren(...rows);
}

function choose(page: PageGlobals, { dataset }: PageNode, chosen: Chosen, files: Iterable<PageFile>): void {
  if (chosen.isSending) return;
  const [maxBytes, maxFiles] = [Number(dataset['maxBytes']), Number(dataset['maxFiles'])];
  const all = [...files];
  const large = all.filter((file) => file.size > maxBytes).map((file) => `${file.name} (${sized(file.size)})`);
  const fit = [...chosen.files, ...all.filter((file) => file.size <= maxBytes)];
  const tooLarge = `Too large: ${large.join(', ')}. A file may have up to ${sized(maxBytes)}.`;
  const tooMany = `Too many files: up to ${maxFiles} can be sent at once.`;
  const problems = [...(large.length > 0 ? [tooLarge] : []), ...(fit.length > maxFiles ? [tooMany] : [])];
  chosen.files = fit.slice(0, maxFiles);
  complain(page, problems.join(' '));
  showChosen(page, chosen);
}

function endBy(page: PageGlobals, form: PageNode, text: string, canTryAgain: boolean): void {
  form.hidden = true;
  at(page, '#sending').hidden = true;
  at(page, '#again').hidden = !canTryAgain;
  complain(page, text);
}

/** A bar for each file. They are sent one after the other, each with the same share of what the form adds. */
function barsOf(page: PageGlobals, files: readonly PageFile[]): (loaded: number, total: number) => void {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  const parts = files.map(({ name, size }) => {
    const [row, bar, text] = [
      make(page, 'li', '', ''),
      make(page, 'progress', '', ''),
      make(page, 'span', 'quiet', ''),
    ];
    bar.max = Math.max(1, size);
    bar.setAttribute('aria-label', name);
    row.append(make(page, 'span', 'name', name), bar, text);
    return { row, bar, text, size };
  });
  at(page, '#parts').replaceChildren(...parts.map(({ row }) => row));
  const show = (loaded: number, total: number): void => {
    const added = Math.max(0, total - bytes) / files.length;
    let begin = 0;
    for (const { bar, text, size } of parts) {
      const sent = Math.round(Math.min(size, Math.max(0, loaded - begin - added / 2)));
      begin += size + added;
      bar.value = size === 0 && loaded >= begin ? 1 : sent;
      const percent = size === 0 ? (loaded >= begin ? 100 : 0) : Math.floor((sent / size) * 100);
      text.textContent = `${sized(sent)} of ${sized(size)}, ${percent} %`;
    }
  };
  show(0, bytes);
  return show;
}

/** '' where the browser computes none: pages that came without TLS. */
async function sha256({ crypto }: PageGlobals, file: PageFile): Promise<string> {
  const digest = await crypto.subtle?.digest('SHA-256', await file.arrayBuffer());
  if (digest === undefined) return '';
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function bodyOf(page: PageGlobals, form: PageNode, files: readonly PageFile[]): Promise<PageForm> {
  const needsHashes = form.dataset['hashes'] === 'required';
  const typed = page.crypto.subtle === undefined;
  const body = new page.FormData();
  for (const file of files) {
    if (needsHashes) body.append('sha256', typed ? String(at(page, '#sha256').value) : await sha256(page, file));
    body.append('file', file, file.name);
  }
  return body;
}

function showAnswer(page: PageGlobals, form: PageNode, { responseText, status }: PageRequest): void {
  const answer = new page.DOMParser().parseFromString(responseText, 'text/html');
  const main = answer.querySelector('main[data-upload]');
  if (main === null) {
    // From something between us and the server.
    endBy(page, form, `The upload failed (HTTP ${status}).`, true);
    return;
  }
  at(page, 'main').replaceWith(main);
  page.document.title = answer.title;
  addCopyButtons(page);
  at(page, 'h1').focus();
  void watchTaken(page);
}

async function send(page: PageGlobals, form: PageNode, chosen: Chosen): Promise<void> {
  if (chosen.isSending) return;
  if (chosen.files.length === 0) {
    complain(page, 'Choose a file first.');
    at(page, '#files').focus();
    return;
  }
  chosen.isSending = true;
  complain(page, '');
  form.hidden = true;
  at(page, '#sending').hidden = false;
  const body = await bodyOf(page, form, chosen.files);
  const request = new page.XMLHttpRequest();
  const showBars = barsOf(page, chosen.files);
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    showBars(loaded, total);
    const percent = total === 0 ? 0 : Math.floor((loaded / total) * 100);
    at(page, '#progress').value = percent;
    at(page, '#percent').textContent = percent === 100 ? 'Sent. The server checks and stores it…' : `${percent} %`;
  });
  request.addEventListener('load', () => showAnswer(page, form, request));
  // The answer may have been lost after the files were stored.
  request.addEventListener('error', () =>
    endBy(page, form, 'The connection was lost. It is not known whether the files were stored.', true),
  );
  request.open('POST', page.location.href);
  request.setRequestHeader('Accept', 'text/html');
  request.send(body);
}

/** Anywhere on the page: a file that misses the zone would otherwise be opened in place of the page. */
function takeDrops(page: PageGlobals, onDrop: (files: Iterable<PageFile>) => void): void {
  const mark = (over: boolean) => (event: Pick<PageEvent, 'preventDefault'>) => {
    event.preventDefault();
    at(page, '#drop').classList.toggle('over', over);
  };
  page.addEventListener('dragover', mark(true));
  page.addEventListener('dragleave', mark(false));
  page.addEventListener('drop', (event) => {
    mark(false)(event);
    onDrop(event.dataTransfer?.files ?? []);
  });
}

function showForm(page: PageGlobals, form: PageNode): void {
  const chosen: Chosen = { files: [], isSending: false };
  const left = Number(form.dataset['expiresInMs']);
  // A timer that is set for longer rings at once.
  if (left < 2 ** 31 - 1) {
    page.setTimeout(() => {
      if (!chosen.isSending) endBy(page, form, 'This link has expired. Ask for a new one.', false);
    }, left);
  }
  const time = at(page, 'time');
  time.textContent = new Date(time.dateTime).toLocaleTimeString();
  const input = at(page, '#files');
  input.required = false;
  at(page, '#hint').hidden = false;
  if (form.dataset['hashes'] === 'required') at(page, '#hash').hidden = page.crypto.subtle !== undefined;
  input.addEventListener('change', () => {
    choose(page, form, chosen, input.files ?? []);
    input.value = '';
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send(page, form, chosen).catch((error: unknown) => endBy(page, form, `The upload failed: ${String(error)}`, true));
  });
  takeDrops(page, (files) => choose(page, form, chosen, files));
}

function start(page: PageGlobals): void {
  const form = page.document.querySelector('form');
  if (form === null) {
    addCopyButtons(page);
    void watchTaken(page);
  } else showForm(page, form);
}

const FORM = [complain, showChosen, choose, endBy, barsOf, sha256, bodyOf, showAnswer, send, takeDrops, showForm];
const FUNCTIONS = [at, make, button, sized, copy, addCopyButtons, rest, showTaken, watchTaken, ...FORM];

/** The script of the upload page, for a `script` element. */
export const UPLOAD_PAGE_SCRIPT = `(() => {\n${FUNCTIONS.map(String).join('\n')}\n(${String(start)})(globalThis);\n})();`;
