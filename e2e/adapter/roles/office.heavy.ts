import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { missing } from '../../sdks/cached.ts';
import { startPlaywrightServer } from '../../support/real-servers.ts';
import { readResource } from '../files/kit/artifacts.ts';
import { sharedFolder } from '../files/kit/folder.ts';
import { startUploadTarget, type UploadTarget } from '../files/kit/upload-target.ts';
import { mounted } from '../kit/deployment.ts';
import { python, startExcel, startMarkItDown, startWord } from './kit/office-servers.ts';
import { type People, startPeople } from './kit/people.ts';
import { madeBy, type Made, oneOf, saidBy } from './kit/roles.ts';

const CHANGES = 30;
const unavailable = await missing('python3', '-m', 'venv', '--help');

describe.skipIf(unavailable !== undefined).each([
  ['three replicas and Redis', 'redis', 3],
  ['SQLite', 'disk', 1],
] as const)(`published servers with files, behind %s ${unavailable ?? ''}`, (_name, state, replicas) => {
  const started = new AsyncDisposableStack();
  let people: People;
  let page: UploadTarget;

  beforeAll(async () => {
    const root = started.use(await sharedFolder()).path;
    const [excel, word, markitdown, playwright] = await Promise.all([
      startExcel(root),
      startWord(),
      startMarkItDown(),
      startPlaywrightServer('streamable_http', join(root, 'browser'), root),
    ]);
    for (const server of [excel, word, markitdown, playwright]) started.use(server);
    page = started.use(await startUploadTarget());
    const patient = { tool_defaults: { tool_call_timeout_seconds: 120 } };
    people = started.use(
      await startPeople({
        replicas,
        state,
        root,
        servers: () => [
          mounted('excel', excel.url, { profile: 'excel' }),
          mounted('word', word.url, { profile: 'word' }),
          mounted('markitdown', markitdown.url, { profile: 'markitdown' }),
          mounted('browser', playwright.url, { profile: { name: 'playwright', folder: root }, ...patient }),
        ],
      }),
    );
  }, 300_000);
  afterAll(() => started.disposeAsync());

  test('a document is made, changed thirty times by its handle, read and fetched', async () => {
    const call = people.calls(await people.opened('word'));
    const { uri } = oneOf(await call('create_document', { filename: 'report.docx', title: 'Report' }));
    let last: Made | undefined;
    for (let number = 1; number <= CHANGES; number += 1) {
      last = oneOf(await call('add_paragraph', { filename: uri, text: `Paragraph ${number}.` }));
      expect(last).toMatchObject({ uri, filename: 'report.docx', version: number + 1 });
    }
    expect(saidBy(await call('get_document_text', { filename: uri }))).toContain('Paragraph 30.');
    const copy = madeBy(await call('copy_document', { source_filename: uri, destination_filename: 'copy.docx' }));
    const count =
      'import docx,sys; print(len([p for p in docx.Document(sys.argv[1]).paragraphs if p.text.startswith("Paragraph")]))';
    for (const file of [last, copy[0]]) expect(await python(count, await people.saved(file as Made))).toBe('30');
  });

  test('an uploaded document is changed, and the original can still be fetched', async () => {
    const made = join(people.scratch, 'original.docx');
    await python('import docx,sys; d=docx.Document(); d.add_paragraph("Original."); d.save(sys.argv[1])', made);
    const session = await people.opened('word');
    const file = { name: 'original.docx', bytes: await readFile(made) };
    const handle = await people.upload(session, 'word', file);
    const call = people.calls(session);
    let last: Made | undefined;
    for (let number = 1; number <= CHANGES; number += 1) {
      last = oneOf(await call('add_paragraph', { filename: handle, text: `Paragraph ${number}.` }));
    }
    const texts = 'import docx,sys; print("|".join(p.text for p in docx.Document(sys.argv[1]).paragraphs))';
    const all = ['Original.', ...Array.from({ length: CHANGES }, (_, number) => `Paragraph ${number + 1}.`)].join('|');
    expect(await python(texts, await people.saved(last as Made))).toBe(all);
    expect(await readFile(await people.saved(last as Made, 1))).toEqual(file.bytes);
  });

  test('a workbook is made, filled thirty times, read, exported and fetched', async () => {
    const call = people.calls(await people.opened('excel'));
    const { uri } = oneOf(await call('create_workbook', { path: 'sales.xlsx', sheets: ['Data'] }));
    let last: Made | undefined;
    for (let row = 1; row <= CHANGES; row += 1) {
      last = oneOf(await call('write_range', { path: uri, sheet: 'Data', at: `A${row}`, rows: [[`row ${row}`, row]] }));
    }
    expect(last).toMatchObject({ uri, version: CHANGES + 1 });
    expect(saidBy(await call('read_range', { path: uri, sheet: 'Data', range: 'A30:B30' }))).toContain('row 30');
    const csv = oneOf(await call('export_csv', { path: uri, sheet: 'Data', csv_path: 'data.csv' }));
    const lines = String(await readResource((await people.opened('excel')).at(people.next()), csv.uri))
      .trim()
      .split('\n');
    expect(lines).toHaveLength(CHANGES);
    const sum =
      'import openpyxl,sys; s=openpyxl.load_workbook(sys.argv[1])["Data"]; print(sum(r[1].value for r in s.iter_rows()))';
    expect(await python(sum, await people.saved(last as Made))).toBe('465');
    const back = oneOf(await call('import_csv', { path: uri, csv_path: csv.uri, sheet: 'Data', at: 'D1' }));
    expect(back).toMatchObject({ uri, version: CHANGES + 2 });
  });

  test('what a browser sees becomes a file, and its picture goes into a workbook of the same principal', async () => {
    const call = people.calls(await people.opened('browser'));
    const seen = await call('browser_navigate', { url: page.url });
    const snapshot = madeBy(seen).find(({ filename }) => filename.endsWith('.yml'));
    expect(saidBy(seen)).toContain(`[Snapshot](${snapshot?.uri})`);
    expect(
      String(await readResource((await people.opened('browser')).at(people.next()), snapshot?.uri ?? '')),
    ).toContain('button');
    expect(saidBy(await call('browser_read_artifact', { uri: snapshot?.uri ?? '' }))).toContain('button');
    const shot = madeBy(await call('browser_take_screenshot', { filename: 'page.png' })).find(
      ({ filename }) => filename === 'page.png',
    );

    const sheets = people.calls(await people.opened('excel'));
    const { uri } = oneOf(await sheets('create_workbook', { path: 'pictures.xlsx', sheets: ['Data'] }));
    const picture = { path: uri, sheet: 'Data', image_path: shot?.uri ?? '', at: 'B2' };
    const filled = oneOf(await sheets('insert_image', picture));
    const images = 'import openpyxl,sys; print(len(openpyxl.load_workbook(sys.argv[1])["Data"]._images))';
    expect(await python(images, await people.saved(filled))).toBe('1');
    const theirs = people.calls(await people.opened('excel', 'bob'));
    expect(saidBy(await theirs('insert_image', picture))).toContain('is unknown or has expired');
  });

  test('a document of one server is read by another that takes URIs', async () => {
    const { uri } = oneOf(
      await people.calls(await people.opened('excel'))('create_workbook', { path: 'a.xlsx', sheets: ['Data'] }),
    );
    const filled = people.calls(await people.opened('excel'));
    await filled('write_range', { path: uri, sheet: 'Data', at: 'A1', rows: [['converted']] });
    const converted = await people.calls(await people.opened('markitdown'))('convert_to_markdown', { uri });
    expect(saidBy(converted)).toContain('converted');

    const session = await people.opened('markitdown');
    const file = { name: 'notes.html', bytes: Buffer.from('<h1>Uploaded</h1>') };
    const handle = await people.upload(session, 'markitdown', file);
    const read = await people.calls(session)('convert_to_markdown', { uri: handle });
    expect(saidBy(read)).toBe('# Uploaded');
  });
});
