import type { PageFile, PageGlobals, PageNode } from './upload-page-dom.ts';

/**
 * Runs in the browser, on pages that work without it too. It adds dropping, a look at the sizes before anything is sent,
 * progress, buttons to copy, and whether the files were taken; what the server answers is the same page as without it. Its source text is put into
 * the page, so it must not refer to anything outside itself.
 */
export function uploadPageScript(globals: PageGlobals): void {
  const { document, crypto } = globals;
  /** A timer that is set for longer rings at once. */
  const LONGEST_TIMER_MS = 2 ** 31 - 1;

  function at(selector: string): PageNode {
    const node = document.querySelector(selector);
    if (node === null) throw new Error(`no ${selector}`);
    return node;
  }

  function make(name: string, className: string, text: string): PageNode {
    const node = document.createElement(name);
    node.className = className;
    node.textContent = text;
    return node;
  }

  function button(text: string, label: string, onClick: () => void): PageNode {
    const node = make('button', '', text);
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

  async function copy(code: PageNode, pressed: PageNode): Promise<void> {
    const { clipboard } = globals.navigator;
    if (clipboard === undefined) {
      // Pages that came without TLS have no clipboard of their own.
      globals.getSelection()?.selectAllChildren(code);
      document.execCommand('copy');
    } else {
      await clipboard.writeText(code.textContent ?? '');
    }
    pressed.textContent = 'Copied';
  }

  function addCopyButtons(): void {
    for (const code of document.querySelectorAll('code[data-copy]')) {
      const label = `Copy ${code.dataset['copy'] ?? ''}`;
      const node = button('Copy', label, () => void copy(code, node).catch(() => (node.textContent = 'Not copied')));
      code.after(node);
    }
  }

  /** Asks, until it is known of each file, whether the assistant has taken it. */
  async function watchTaken(): Promise<void> {
    const node = document.querySelector('#taken');
    if (node === null) return;
    const names = JSON.parse(node.dataset['names'] ?? '[]') as string[];
    const listed = (all: readonly string[]): string => new globals.Intl.ListFormat('en').format(all);
    let states = names.map(() => 'w');
    /** The last answer. */
    let seen = states.join('');
    let failures = 0;
    const show = (): void => {
      const named = (state: string): string[] => names.filter((_, i) => states[i] === state);
      const [taken, waiting, gone] = [named('t'), named('w'), named('g')];
      const texts = [
        ...(taken.length > 0 ? [`The assistant has taken ${listed(taken)}.`] : []),
        ...(waiting.length > 0 ? [`Waiting for the assistant to take ${listed(waiting)}…`] : []),
        ...(gone.length > 0 ? [`${listed(gone)} ${gone.length === 1 ? 'is' : 'are'} not kept any more.`] : []),
      ];
      node.textContent = texts.join(' ');
      node.classList.toggle('done', waiting.length === 0 && gone.length === 0);
    };
    show();
    while (states.includes('w')) {
      try {
        const response = await globals.fetch(`${node.dataset['status'] ?? ''}&seen=${seen}`);
        if (response.status >= 400 && response.status < 500 && response.status !== 429) break;
        if (!response.ok) throw new Error(String(response.status));
        const { files } = (await response.json()) as { files: string };
        const isNews = files !== seen;
        seen = files;
        // What was taken stays so, also when it is gone some time later.
        states = states.map((state, i) => (state === 't' ? state : (files[i] ?? state)));
        failures = 0;
        show();
        if (!isNews) await rest(3000);
      } catch {
        failures += 1;
        if (failures > 20) break;
        await rest(Math.min(15_000, 500 * 2 ** failures));
      }
    }
    if (states.includes('w')) node.textContent = 'Ask the assistant whether it has the files.';
  }

  const rest = (ms: number): Promise<void> => new Promise((resolve) => void globals.setTimeout(resolve, ms));

  function showForm(form: PageNode): void {
    const [input, list, problem, sending] = [at('#files'), at('#chosen'), at('#problem'), at('#sending')];
    const maxBytes = Number(form.dataset['maxBytes']);
    const maxFiles = Number(form.dataset['maxFiles']);
    const needsHashes = form.dataset['hashes'] === 'required';
    let chosen: PageFile[] = [];
    let busy = false;

    function complain(text: string): void {
      problem.textContent = text;
      problem.hidden = text === '';
    }

    function showChosen(): void {
      const rows = chosen.map((file) => {
        const row = make('li', '', '');
        const remove = button('Remove', `Remove ${file.name}`, () => {
          chosen = chosen.filter((other) => other !== file);
          showChosen();
          input.focus();
        });
        row.append(make('span', 'name', file.name), make('span', 'quiet', sized(file.size)), remove);
        return row;
      });
      list.replaceChildren(...rows);
    }

    function choose(files: Iterable<PageFile>): void {
      if (busy) return;
      const all = [...files];
      const large = all.filter((file) => file.size > maxBytes).map((file) => `${file.name} (${sized(file.size)})`);
      chosen = [...chosen, ...all.filter((file) => file.size <= maxBytes)];
      const tooLarge = `Too large: ${large.join(', ')}. A file may have up to ${sized(maxBytes)}.`;
      const tooMany = `Too many files: up to ${maxFiles} can be sent at once.`;
      const problems = [...(large.length > 0 ? [tooLarge] : []), ...(chosen.length > maxFiles ? [tooMany] : [])];
      chosen = chosen.slice(0, maxFiles);
      complain(problems.join(' '));
      showChosen();
    }

    function endBy(text: string, canTryAgain: boolean): void {
      form.hidden = true;
      sending.hidden = true;
      at('#again').hidden = !canTryAgain;
      complain(text);
    }

    /** A bar for each file. They are sent one after the other, each with the same share of what the form adds. */
    function partsOf(files: readonly PageFile[]): (loaded: number, total: number) => void {
      const bytes = files.reduce((sum, { size }) => sum + size, 0);
      const parts = files.map(({ name, size }) => {
        const [row, bar, text] = [make('li', '', ''), make('progress', '', ''), make('span', 'quiet', '')];
        bar.max = Math.max(1, size);
        bar.setAttribute('aria-label', name);
        row.append(make('span', 'name', name), bar, text);
        return { row, bar, text, size };
      });
      at('#parts').replaceChildren(...parts.map(({ row }) => row));
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

    async function sha256(file: PageFile): Promise<string> {
      const digest = await crypto.subtle?.digest('SHA-256', await file.arrayBuffer());
      return digest === undefined
        ? ''
        : [...new Uint8Array(digest)].map((b) => b.toString(16).padStart(2, '0')).join('');
    }

    async function send(): Promise<void> {
      if (busy) return;
      if (chosen.length === 0) {
        complain('Choose a file first.');
        input.focus();
        return;
      }
      busy = true;
      complain('');
      form.hidden = true;
      sending.hidden = false;
      const body = new globals.FormData();
      for (const file of chosen) {
        if (needsHashes)
          body.append('sha256', crypto.subtle === undefined ? String(at('#sha256').value) : await sha256(file));
        body.append('file', file, file.name);
      }
      const request = new globals.XMLHttpRequest();
      const showParts = partsOf(chosen);
      request.upload.addEventListener('progress', ({ loaded, total }) => {
        showParts(loaded, total);
        const percent = total === 0 ? 0 : Math.floor((loaded / total) * 100);
        at('#progress').value = percent;
        at('#percent').textContent = percent === 100 ? 'Sent. The server checks and stores it…' : `${percent} %`;
      });
      request.addEventListener('load', () => {
        const page = new globals.DOMParser().parseFromString(request.responseText, 'text/html');
        const main = page.querySelector('main[data-upload]');
        if (main === null) {
          // From something between us and the server.
          endBy(`The upload failed (HTTP ${request.status}).`, true);
          return;
        }
        at('main').replaceWith(main);
        document.title = page.title;
        addCopyButtons();
        at('h1').focus();
        void watchTaken();
      });
      // The answer may have been lost after the files were stored.
      request.addEventListener('error', () =>
        endBy('The connection was lost. It is not known whether the files were stored.', true),
      );
      request.open('POST', globals.location.href);
      request.setRequestHeader('Accept', 'text/html');
      request.send(body);
    }

    const left = Number(form.dataset['expiresInMs']);
    if (left < LONGEST_TIMER_MS) {
      globals.setTimeout(() => {
        if (!busy) endBy('This link has expired. Ask for a new one.', false);
      }, left);
    }
    const time = at('time');
    time.textContent = new Date(time.dateTime).toLocaleTimeString();
    input.required = false;
    at('#hint').hidden = false;
    if (needsHashes) at('#hash').hidden = crypto.subtle !== undefined;
    input.addEventListener('change', () => {
      choose(input.files ?? []);
      input.value = '';
    });
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      send().catch((error: unknown) => endBy(`The upload failed: ${String(error)}`, true));
    });
    // Anywhere on the page: a file that misses the zone would otherwise be opened in place of the page.
    const mark = (over: boolean) => (event: { preventDefault(): void }) => {
      event.preventDefault();
      at('#drop').classList.toggle('over', over);
    };
    globals.addEventListener('dragover', mark(true));
    globals.addEventListener('dragleave', mark(false));
    globals.addEventListener('drop', (event) => {
      mark(false)(event);
      choose(event.dataTransfer?.files ?? []);
    });
  }

  const form = document.querySelector('form');
  if (form === null) {
    addCopyButtons();
    void watchTaken();
  } else showForm(form);
}
