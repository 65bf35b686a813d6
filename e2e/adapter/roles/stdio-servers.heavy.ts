import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing } from '../../sdks/cached.ts';
import { startPlaywrightServer } from '../../support/real-servers.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { sharedFolder } from '../files/kit/folder.ts';
import { startUploadTarget, type UploadTarget } from '../files/kit/upload-target.ts';
import { mounted } from '../kit/deployment.ts';
import { startChromeDevtools, startFilesystem, startOtherExcel, startPdfReader } from './kit/node-servers.ts';
import { python, startExcel } from './kit/office-servers.ts';
import { type People, startPeople } from './kit/people.ts';
import { madeBy, type Made, oneOf, problemsOf, saidBy } from './kit/roles.ts';

const CHANGES = 30;
const unavailable = await missing('python3', '-m', 'venv', '--help');
/** As docs/adapter/profiles.md has it. */
const OTHER_EXCEL = [
  { type: 'files', tools: ['excel_read_sheet', 'excel_describe_sheets'], arguments: { fileAbsolutePath: 'in' } },
  { type: 'files', tools: ['excel_*'], arguments: { fileAbsolutePath: 'edit' } },
];
const VALUES = `
import openpyxl,sys
print("|".join(f"{a}={b}" for a,b in openpyxl.load_workbook(sys.argv[1])["Data"].iter_rows(values_only=True, max_col=2)))`;
const rowsTo = (last: number): string =>
  Array.from({ length: last }, (_, row) => `row ${row + 1}=${row + 1}`).join('|');

describe.skipIf(unavailable !== undefined).each([
  ['three replicas and Redis', 'redis', 3],
  ['SQLite', 'disk', 1],
] as const)(`published servers over stdio, behind a bridge and %s ${unavailable ?? ''}`, (_name, state, replicas) => {
  const started = new AsyncDisposableStack();
  let people: People;
  let page: UploadTarget;

  beforeAll(async () => {
    const root = started.use(await sharedFolder()).path;
    page = started.use(await startUploadTarget());
    const [books, excel, pdf, files, chrome, playwright] = await Promise.all([
      startExcel(root),
      startOtherExcel(root),
      startPdfReader(root),
      startFilesystem(root),
      startChromeDevtools(root),
      startPlaywrightServer('streamable_http', join(root, 'browser'), root, ['pdf']),
    ]);
    for (const server of [books, excel, pdf, files, chrome, playwright]) started.use(server);
    const patient = { tool_defaults: { tool_call_timeout_seconds: 120 } };
    people = started.use(
      await startPeople({
        replicas,
        state,
        root,
        servers: () => [
          mounted('books', books.url, { profile: 'excel' }),
          mounted('excel', excel.url, { adapters: OTHER_EXCEL }),
          mounted('pdf', pdf.url, { profile: 'pdf-reader' }),
          mounted('files', files.url, { profile: 'filesystem' }),
          mounted('chrome', chrome.url, { profile: 'chrome-devtools', ...patient }),
          mounted('browser', playwright.url, { profile: { name: 'playwright', folder: root }, ...patient }),
        ],
      }),
    );
  }, 300_000);
  afterAll(() => started.disposeAsync());

  /** Writes one row of a workbook. */
  const row = (file: string, number: number, newSheet = false): JsonObject => ({
    fileAbsolutePath: file,
    sheetName: 'Data',
    newSheet,
    range: `A${number}:B${number}`,
    values: [[`row ${number}`, number]],
  });

  // This server changes workbooks only, it makes none.
  test('a workbook that another server has made is filled thirty times by its handle, read and fetched', async () => {
    const make = people.calls(await people.opened('books'));
    let last = oneOf(await make('create_workbook', { path: 'sales.xlsx', sheets: ['First'] }));
    const { uri } = last;
    const call = people.calls(await people.opened('excel'));
    for (let number = 1; number <= CHANGES; number += 1) {
      last = oneOf(await call('excel_write_to_sheet', row(uri, number, number === 1)));
      expect(last).toMatchObject({ uri, filename: 'sales.xlsx', version: number + 1 });
    }
    const read = { fileAbsolutePath: uri, sheetName: 'Data', range: 'A30:B30' };
    expect(saidBy(await call('excel_read_sheet', read))).toContain('row 30');
    expect(saidBy(await call('excel_describe_sheets', { fileAbsolutePath: uri }))).toContain('"Data"');
    expect(await python(VALUES, await people.saved(last))).toBe(rowsTo(CHANGES));
  });

  test('an uploaded workbook is changed, and the original can still be fetched', async () => {
    const path = join(people.scratch, 'original.xlsx');
    const make = `
import openpyxl,sys
book=openpyxl.Workbook(); book.active.title="Data"; book.active.append(["row 1",1]); book.save(sys.argv[1])`;
    await python(make, path);
    const session = await people.opened('excel');
    const file = { name: 'original.xlsx', bytes: await readFile(path) };
    const handle = await people.upload(session, 'excel', file);
    const call = people.calls(session);
    let last: Made | undefined;
    for (let number = 2; number <= CHANGES + 1; number += 1) {
      last = oneOf(await call('excel_write_to_sheet', row(handle, number)));
    }
    expect(await python(VALUES, await people.saved(last as Made))).toBe(rowsTo(CHANGES + 1));
    expect(await readFile(await people.saved(last as Made, 1))).toEqual(file.bytes);
  });

  test('PDFs are read from a list: one that a browser has saved, and one that was uploaded', async () => {
    const browser = people.calls(await people.opened('browser'));
    await browser('browser_navigate', { url: page.url });
    const printed = madeBy(await browser('browser_pdf_save', { filename: 'page.pdf' })).find(
      ({ filename }) => filename === 'page.pdf',
    ) as Made;
    const session = await people.opened('pdf');
    const bytes = await readFile(await people.saved(printed));
    expect(bytes.subarray(0, 5).toString()).toBe('%PDF-');
    const handle = await people.upload(session, 'pdf', { name: 'uploaded.pdf', bytes });
    const sources = [{ path: printed.uri }, { path: handle, pages: '1' }];
    const said = saidBy(await people.calls(session)('read_pdf', { sources, include_full_text: true }));
    expect(said.split('Hand in').length).toBeGreaterThanOrEqual(3);
    expect(said).toContain(printed.uri);
    expect(said).toContain(handle);
    expect(said).not.toContain(people.crew.root);
  });

  /** A tool of Chrome DevTools, on a page of its own. */
  async function onPage(): Promise<(name: string, args?: JsonObject) => Promise<JsonObject>> {
    const call = people.calls(await people.opened('chrome'));
    const pages = saidBy(await call('new_page', { url: page.url }));
    const pageId = Number(/^(\d+): .*\[selected\]/m.exec(pages)?.[1]);
    return (name, args = {}) => call(name, { pageId, ...args });
  }
  const textOf = async ({ uri }: Made, server = 'chrome'): Promise<string> =>
    String(await readResource((await people.opened(server)).at(people.next()), uri));

  test('one call writes two files: what a page has sent, and what it got', async () => {
    const call = await onPage();
    const post = `async () => (await fetch('/received/a.txt', { method: 'POST', body: 'sent by the page' })).status`;
    expect(saidBy(await call('evaluate_script', { function: post }))).toContain('200');
    const requests = saidBy(await call('list_network_requests'));
    const reqid = Number(/reqid=(\d+) POST/.exec(requests)?.[1]);
    const both = { reqid, requestFilePath: 'asked.txt', responseFilePath: 'answered.txt' };
    const result = await call('get_network_request', both);
    const made = madeBy(result);
    expect(made.map(({ filename }) => filename)).toEqual(['asked.network-request', 'answered.network-response']);
    expect(await Promise.all(made.map((file) => textOf(file)))).toEqual(['sent by the page', 'received 16']);
    for (const { uri } of made) expect(saidBy(result)).toContain(uri);
    expect(saidBy(result)).not.toContain(people.crew.root);
    expect(problemsOf(result)).toBeUndefined();
  });

  test('the folder of a report becomes files', async () => {
    const call = await onPage();
    const result = await call('lighthouse_audit', { mode: 'snapshot', outputDirPath: 'report' });
    const made = madeBy(result);
    expect(made.map(({ filename }) => filename).toSorted()).toEqual(['report.html', 'report.json']);
    const json = made.find(({ filename }) => filename === 'report.json') as Made;
    expect(JSON.parse(await textOf(json))).toMatchObject({ finalDisplayedUrl: page.url });
    for (const { uri } of made) expect(saidBy(result)).toContain(uri);
    expect(saidBy(result)).not.toContain(people.crew.root);
  });

  test('a script that was uploaded runs in a page, and its result becomes a file in the same call', async () => {
    const session = await people.opened('chrome');
    const script = { name: 'title.js', bytes: Buffer.from('() => document.title') };
    const sourcePath = await people.upload(session, 'chrome', script);
    const call = await onPage();
    const made = oneOf(await call('evaluate_script', { sourcePath, filePath: 'title.json' }));
    expect([made.filename, await textOf(made)]).toEqual(['title.json', '"Hand in"']);
  });

  test('a picture of a page becomes a file, which the browser hands in', async () => {
    const call = await onPage();
    const shot = oneOf(await call('take_screenshot', { filePath: 'page' }));
    expect(shot.filename).toBe('page.png');
    const bytes = await readFile(await people.saved(shot));
    expect(bytes.subarray(1, 4).toString()).toBe('PNG');
    const snapshot = oneOf(await call('take_snapshot', { filePath: 'page.txt' }));
    const uid = /uid=(\S+) button/.exec(await textOf(snapshot))?.[1] ?? '';
    await call('upload_file', { uid, filePaths: [shot.uri] });
    expect(await page.received('page.png')).toEqual(bytes);
  });

  test('a heap snapshot and a trace become files', async () => {
    const call = await onPage();
    const heap = oneOf(await call('take_heapsnapshot', { filePath: 'page.heapsnapshot' }));
    expect(JSON.parse(await textOf(heap))).toHaveProperty('snapshot');
    await call('performance_start_trace', { reload: false, autoStop: false });
    const trace = oneOf(await call('performance_stop_trace', { filePath: 'trace.json' }));
    expect(JSON.parse(await textOf(trace))).toHaveProperty('traceEvents');
  });

  test('a text is written, changed, read and moved', async () => {
    const call = people.calls(await people.opened('files'));
    const { uri } = oneOf(await call('write_file', { path: 'notes.txt', content: 'first\n' }));
    const edits = [{ oldText: 'first', newText: 'second' }];
    expect(oneOf(await call('edit_file', { path: uri, edits }))).toMatchObject({ uri, version: 2 });
    expect(saidBy(await call('read_multiple_files', { paths: [uri] }))).toContain('second');
    const moved = oneOf(await call('move_file', { source: uri, destination: 'moved.txt' }));
    expect(await textOf(moved, 'files')).toBe('second\n');
    expect(saidBy(await call('read_text_file', { path: uri }))).toBe('second\n');
  });
});
