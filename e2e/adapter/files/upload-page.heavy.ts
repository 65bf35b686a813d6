import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningAdapter, startAdapter } from '../../support/adapter-process.ts';
import { contentOf, type FileTools, sha256Of, startFileTools } from '../../support/file-tools.ts';
import { asObject, type JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { eventually } from '../kit/eventually.ts';
import { openSession, type Session } from '../kit/session.ts';
import { lying, type SharedFolder, sharedFolder } from './kit/folder.ts';
import { expectAccessible, type Page, startBrowser, withTab } from './kit/page-browser.ts';
import { fileConfig } from './kit/settings.ts';
import { formFile, uploadTo } from './kit/uploads.ts';
import { secret } from '../../support/secrets/secret.ts';

const MIB = 1024 * 1024;
const TOKEN = secret('token of the clients');
const HEADERS = { 'x-mcp-adapter-auth-token': TOKEN };
const HANDLE = /^upload:\/\/sessions\/[0-9a-f]{32}\/[0-9a-f]{32}$/;

let browser: Browser;
let tools: FileTools;
beforeAll(async () => {
  [browser, tools] = await Promise.all([startBrowser(), startFileTools()]);
});
afterAll(async () => {
  await browser?.close();
  await tools?.stop();
});

interface Scene {
  readonly adapter: RunningAdapter;
  readonly folder: SharedFolder;
  readonly session: Session;
  /** A new link to the page, as the helper tool gives it out. */
  readonly link: () => Promise<string>;
}

/** An adapter with a token, which listens where a page of it is of a foreign origin. */
async function withAdapter(config: JsonObject, play: (scene: Scene) => Promise<void>): Promise<void> {
  await using folder = await sharedFolder();
  const core = { auth: { enabled: true, token: TOKEN } };
  await using adapter = await startAdapter({
    config: fileConfig(folder.path, tools.url, { core, ...config }),
    args: ['--host', '0.0.0.0'],
  });
  const session = await openSession(adapter, { headers: HEADERS });
  const link = async (): Promise<string> => {
    const { result } = await session.at(adapter).tool('up_get_upload_url');
    return String(asObject(asObject(result).structuredContent).page_url);
  };
  await play({ adapter, folder, session, link });
}

const asPayload = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer });
const payload = (name: string, size = 1000) => asPayload(name, contentOf(name, size));
const heading = (page: Page): Promise<string | null> => page.locator('h1').textContent();
const problem = (page: Page): Promise<string> => page.getByRole('alert').innerText();
const press = (page: Page): Promise<void> => page.getByRole('button', { name: 'Upload' }).click();
const handles = (page: Page): Promise<string[]> => page.locator('code[data-copy^="the handle"]').allInnerTexts();

/** Lets files fall onto the page, as a hand would. */
async function drop(page: Page, names: readonly string[]): Promise<void> {
  const files = names.map((name) => ({ name, text: contentOf(name, 1000).toString('base64') }));
  await page.evaluate((dropped) => {
    const browser = globalThis as unknown as {
      DataTransfer: new () => { items: { add(file: unknown): void } };
      document: { querySelector(selector: string): { dispatchEvent(event: unknown): void } };
      DragEvent: new (type: string, options: object) => unknown;
    };
    const dataTransfer = new browser.DataTransfer();
    for (const { name, text } of dropped) {
      dataTransfer.items.add(new File([Uint8Array.from(atob(text), (c) => c.codePointAt(0) ?? 0)], name));
    }
    for (const type of ['dragenter', 'dragover', 'drop']) {
      const event = new browser.DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
      browser.document.querySelector('#drop').dispatchEvent(event);
    }
  }, files);
}

/** Passes connections on, but cuts those where a POST is answered. */
async function relayWithoutAnswers(port: number): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let posted = false;
    client.on('data', (bytes) => {
      posted ||= bytes.toString('latin1').startsWith('POST ');
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => (posted ? client.destroy() : client.write(bytes)));
    client.on('error', () => undefined).on('close', () => upstream.destroy());
    upstream.on('error', () => undefined).on('close', () => client.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    [Symbol.asyncDispose]: async () => void server.close(),
  };
}

/** Runs in the page: notes every text that the progress shows. */
function watchPercent(): void {
  const page = globalThis as unknown as {
    seen: (string | null)[];
    document: { querySelector(selector: string): { textContent: string | null } };
    MutationObserver: new (listener: () => void) => { observe(node: unknown, options: object): void };
  };
  page.seen = [];
  const percent = page.document.querySelector('#percent');
  new page.MutationObserver(() => page.seen.push(percent.textContent)).observe(percent, { childList: true });
}

describe('the page of an upload link', () => {
  test('takes files that are dropped on it, and shows what to give to the assistant', () =>
    withAdapter({}, async ({ adapter, session, folder, link }) => {
      const permissions = ['clipboard-read', 'clipboard-write'];
      await withTab(browser, { permissions }, async (page) => {
        await page.goto(await link());
        expect(await heading(page)).toBe('Upload files');
        const text = await page.locator('main').innerText();
        expect(text).toMatch(/The MCP server up asks you for files\./);
        expect(text).toMatch(/Up to 10 MiB for each file and 100 files\. This link works once, until/);
        await expectAccessible(page);

        await drop(page, ['one.bin', 'two.bin', 'three.bin']);
        await page.getByRole('button', { name: 'Remove three.bin' }).click();
        expect(await page.getByRole('listitem').allInnerTexts()).toMatchObject(
          [/one\.bin/, /two\.bin/].map((name) => expect.stringMatching(name)),
        );
        await expectAccessible(page);
        await press(page);
        await page.getByRole('heading', { name: '2 files are uploaded' }).waitFor();
        expect(await page.title()).toBe('2 files are uploaded');
        await expectAccessible(page);

        const shown = await handles(page);
        expect(shown).toEqual([expect.stringMatching(HANDLE), expect.stringMatching(HANDLE)]);
        expect(await page.locator('code[data-copy^="the SHA"]').allInnerTexts()).toEqual(
          ['one.bin', 'two.bin'].map((name) => sha256Of(contentOf(name, 1000))),
        );
        await page.getByRole('button', { name: 'Copy the handle of two.bin' }).click();
        await page.getByText('Copied').waitFor();
        const clipboard = await page.evaluate(() =>
          (navigator as unknown as { clipboard: { readText(): Promise<string> } }).clipboard.readText(),
        );
        expect(clipboard).toBe(shown[1]);
        const { result } = await session.at(adapter).tool('read_file', { path: shown[0] });
        expect(JSON.stringify(result)).toContain(sha256Of(contentOf('one.bin', 1000)));
      });
      expect((await lying(folder.path)).length).toBe(2);
    }));

  test('shows how far a slow upload has come', () =>
    withAdapter({}, async ({ link }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles([payload('large.bin', 3 * MIB), payload('next.bin', MIB)]);
        const network = await page.context().newCDPSession(page);
        await network.send('Network.emulateNetworkConditions', {
          offline: false,
          latency: 0,
          downloadThroughput: -1,
          uploadThroughput: MIB,
        });
        await page.evaluate(watchPercent);
        await press(page);
        await page.locator('#sending').waitFor();
        await expectAccessible(page);
        // The second begins when the first is sent.
        const sent = page.getByRole('list', { name: 'Files that are sent' }).getByRole('listitem');
        await sent.filter({ hasText: /large\.bin.*3 MiB of 3 MiB, 100 %/s }).waitFor();
        expect(await sent.nth(1).innerText()).toMatch(/next\.bin\s+.* of 1 MiB, \d{1,2} %/s);
        await page.getByRole('heading', { name: '2 files are uploaded' }).waitFor();
        const seen = await page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen);
        const percents = seen.map((text) => Number.parseInt(text, 10)).filter((one) => one > 0 && one < 100);
        expect(new Set(percents).size).toBeGreaterThan(4);
        expect(percents).toEqual(percents.toSorted((a, b) => a - b));
        expect(seen.at(-1)).toBe('Sent. The server checks and stores it…');
      });
    }));

  test('does not send what is too large, and says so', () =>
    withAdapter({ uploads: { max_file_bytes: 2000 } }, async ({ link }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles([payload('large.bin', 2001), payload('small.bin', 2000)]);
        expect(await problem(page)).toBe('Too large: large.bin (2 KiB). A file may have up to 2 KiB.');
        await expectAccessible(page);
        await press(page);
        await page.getByRole('heading', { name: 'The file is uploaded' }).waitFor();
        expect(await page.getByRole('heading', { level: 2 }).allInnerTexts()).toEqual(['small.bin']);
      });
    }));

  test('asks for a file before it sends anything, and takes no more than 100', () =>
    withAdapter({}, async ({ link }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        await press(page);
        expect(await problem(page)).toBe('Choose a file first.');
        await page.locator('#files').setInputFiles(Array.from({ length: 101 }, (_, i) => payload(`${i}.bin`, 10)));
        expect(await problem(page)).toBe('Too many files: up to 100 can be sent at once.');
        expect(await page.getByRole('listitem').count()).toBe(100);
      });
    }));

  test('says what the server has against an upload', () =>
    withAdapter({ sessions: { max_total_session_size: 1500 } }, async ({ link, folder }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles([payload('one.bin'), payload('two.bin')]);
        await press(page);
        await page.getByRole('heading', { name: 'Nothing was uploaded' }).waitFor();
        expect(await problem(page)).toMatch(/^The files of this session take up all the space/);
        await expectAccessible(page);
        await page.getByRole('link', { name: 'See whether the link still works' }).click();
        await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
      });
      expect(await lying(folder.path)).toEqual([]);
    }));

  test('does not claim to know what became of an upload whose answer was lost', () =>
    withAdapter({}, async ({ adapter, folder, link }) => {
      await using relay = await relayWithoutAnswers(adapter.port);
      const url = new URL(await link());
      url.port = String(relay.port);
      await withTab(browser, {}, async (page) => {
        await page.goto(url.href);
        await page.locator('#files').setInputFiles(payload('one.bin'));
        await press(page);
        await eventually(() => problem(page)).toBe(
          'The connection was lost. It is not known whether the files were stored.',
        );
        await expectAccessible(page);
      });
      expect((await lying(folder.path)).length).toBe(1);
    }));

  test('sends the hashes that a server requires', () =>
    withAdapter({ uploads: { require_sha256: true } }, async ({ link }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles([payload('one.bin'), payload('two.bin')]);
        await press(page);
        await page.getByRole('heading', { name: '2 files are uploaded' }).waitFor();
      });
    }));

  test('works with the keyboard alone', () =>
    withAdapter({}, async ({ link }) => {
      await withTab(browser, {}, async (page) => {
        await page.goto(await link());
        const chosen = page.waitForEvent('filechooser');
        await page.keyboard.press('Tab');
        await page.locator('#files:focus').waitFor();
        await page.keyboard.press('Enter');
        await (await chosen).setFiles(payload('one.bin'));
        await page.keyboard.press('Tab');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Enter');
        await page.getByRole('heading', { name: 'The file is uploaded' }).waitFor();
        const focused = await page.evaluate(
          () =>
            (globalThis as unknown as { document: { activeElement: { tagName: string } } }).document.activeElement
              .tagName,
        );
        expect(focused).toBe('H1');
      });
    }));
});

describe('a link that is over', () => {
  test('has been used: the page says so, and so does one that was open meanwhile', () =>
    withAdapter({}, async ({ link }) => {
      const url = await link();
      await withTab(browser, {}, async (page) => {
        await page.goto(url);
        expect((await uploadTo(url, [formFile('other.bin')])).status).toBe(200);
        await page.locator('#files').setInputFiles(payload('mine.bin'));
        await press(page);
        await page.getByRole('heading', { name: 'This link cannot be used' }).waitFor();
        expect(await problem(page)).toMatch(/^The upload URL has been used already/);
        await expectAccessible(page);
        await page.goto(url);
        expect(await heading(page)).toBe('This link cannot be used');
        await expectAccessible(page);
      });
    }));

  test('has expired: the page says so, and so does one that is open', () =>
    withAdapter(
      { core: { auth: { enabled: true, token: TOKEN } }, uploads: { page_url_ttl_seconds: 3 } },
      async ({ link }) => {
        const url = await link();
        await withTab(browser, {}, async (page) => {
          await page.goto(url);
          await page.locator('#files').setInputFiles(payload('late.bin'));
          await eventually(() => problem(page)).toBe('This link has expired. Ask for a new one.');
          expect(await page.getByRole('button', { name: 'Upload' }).isVisible()).toBe(false);
          await expectAccessible(page);
          await page.goto(url);
          expect(await heading(page)).toBe('This link cannot be used');
          expect(await problem(page)).toBe('The upload URL has expired; ask for a new one.');
        });
      },
    ));

  test('was broken on its way', () =>
    withAdapter({}, async ({ link }) => {
      const url = await link();
      await withTab(browser, {}, async (page) => {
        const response = await page.goto(url.slice(0, -5));
        expect(response?.status()).toBe(401);
        expect(await heading(page)).toBe('This link cannot be used');
        await page.goto(url);
        expect(await heading(page)).toBe('Upload files');
      });
    }));
});

describe('without JavaScript', () => {
  test('one file is uploaded all the same, and its handle shown', () =>
    withAdapter({}, async ({ adapter, session, folder, link }) => {
      await withTab(browser, { javaScriptEnabled: false }, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles(payload('plain.bin'));
        await press(page);
        await page.getByRole('heading', { name: 'The file is uploaded' }).waitFor();
        const [handle] = await handles(page);
        const { result } = await session.at(adapter).tool('read_file', { path: handle });
        expect(JSON.stringify(result)).toContain(sha256Of(contentOf('plain.bin', 1000)));
      });
      const [file] = await lying(folder.path);
      expect(await readFile(`${folder.path}/${file?.path}`)).toEqual(contentOf('plain.bin', 1000));
    }));

  test('a file that is too large is refused with a page, though the browser sends all of it first', () =>
    withAdapter({ uploads: { max_file_bytes: 1000 } }, async ({ folder, link }) => {
      await withTab(browser, { javaScriptEnabled: false }, async (page) => {
        await page.goto(await link());
        await page.locator('#files').setInputFiles(payload('large.bin', 5 * MIB));
        await press(page);
        await page.getByRole('heading', { name: 'Nothing was uploaded' }).waitFor();
        expect(await problem(page)).toBe('The file large.bin is larger than 1000 bytes, which is the limit.');
      });
      expect(await lying(folder.path)).toEqual([]);
    }));
});
