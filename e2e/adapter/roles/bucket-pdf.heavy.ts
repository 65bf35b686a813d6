import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type RunningAdapter, runAdapter } from '../../support/adapter-process.ts';
import { startFileTools } from '../../support/file-tools.ts';
import { startS3, type TestS3, whyNoS3Server } from '../../support/s3.ts';
import type { JsonObject } from '../../support/scripted-upstream/json-rpc.ts';
import { secret } from '../../support/secrets/secret.ts';
import { startBucketPair } from '../files/kit/bucket-pair.ts';
import { sharedFolder } from '../files/kit/folder.ts';
import { fileConfig } from '../files/kit/settings.ts';
import { uploaded } from '../files/kit/uploads.ts';
import { merged, mounted } from '../kit/deployment.ts';
import { openSession } from '../kit/session.ts';
import { startPdfFetcher } from './kit/node-servers.ts';
import { ROLES, saidBy, textFile } from './kit/roles.ts';

const unavailable = await whyNoS3Server();
const token = secret('token of ann');
const headers = { 'x-mcp-adapter-auth-token': token };
const BY_URL: JsonObject = {
  type: 'files',
  tools: ['read_pdf'],
  arguments: { 'sources[].url': { role: 'in', as: 'url' } },
};
const started = new AsyncDisposableStack();
let s3: TestS3;
let config: JsonObject;
let a: RunningAdapter;
let b: RunningAdapter;

beforeEach(({ skip }) => {
  if (unavailable !== undefined) skip(unavailable);
});
beforeAll(async () => {
  if (unavailable !== undefined) return;
  s3 = started.use(await startS3(secret('key of S3')));
  const nothing = started.use(await sharedFolder());
  const [tools, pdf] = await Promise.all([
    startFileTools(),
    startPdfFetcher(nothing.path, new URL(s3.endpoint).hostname),
  ]);
  for (const one of [tools, pdf]) started.use(one);
  const changes = {
    core: { auth: { enabled: true, tokens: [{ name: 'ann', token }] } },
    artifacts: { scope: 'principal' },
    servers: [mounted('up', tools.url, { adapters: ROLES }), mounted('pdf', pdf.url, { adapters: [BY_URL] })],
  };
  const pair = await startBucketPair(started, s3, tools.url, changes);
  ({ a, b } = pair);
  config = merged(changes, pair.shared);
}, 300_000);
afterAll(() => started.disposeAsync());

/** A page that says something. */
function pdfOf(text: string): string {
  const stream = `BT /F1 24 Tf 72 720 Td (${text}) Tj ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${stream.length}>>stream\n${stream}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
  ];
  let pdf = '%PDF-1.4\n';
  const places = objects.map((object, number) => {
    const at = pdf.length;
    pdf += `${number + 1} 0 obj${object}endobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const table = `xref\n0 6\n0000000000 65535 f \n${places.join('')}trailer<</Size 6/Root 1 0 R>>\n`;
  return `${pdf}${table}startxref\n${pdf.length}\n%%EOF\n`;
}

test('a published server that shares no folder reads PDFs by URL: an upload, and what another server has made', async () => {
  const maker = await openSession(a, { path: '/mcp/up', headers });
  const made = await textFile(maker.at(a), pdfOf('made by a tool'), 'made.pdf');
  const reader = await openSession(b, { path: '/mcp/pdf', headers });
  const file = { name: 'uploaded.pdf', bytes: Buffer.from(pdfOf('uploaded by Ann')) };
  const [taken] = await uploaded(a, reader.sessionId, [file], { server: 'pdf', headers });
  const sources = [{ url: made }, { url: taken?.handle ?? '', pages: '1' }];
  const result = await reader.at(b).tool('read_pdf', { sources, include_full_text: true });
  const said = saidBy(result);
  expect(said).toContain('made by a tool');
  expect(said).toContain('uploaded by Ann');
  // It names its sources, and they are what the model has named.
  for (const { url } of sources) expect(said).toContain(url);
  const whole = JSON.stringify(result);
  for (const ours of [s3.endpoint, s3.bucket, 'X-Amz-']) expect(whole).not.toContain(ours);
  const refused = await reader.at(b).tool('read_pdf', { sources: [{ url: 'http://127.0.0.1/x.pdf' }] });
  expect(saidBy(refused)).toContain('takes handles of files');
});

test.each(['out', 'edit', 'out_dir'])('a file of the role %s by URL is refused at the start', async (role) => {
  const entry = { type: 'files', tools: ['read_pdf'], arguments: { url: { role, as: 'url' } } };
  const wrong = merged(config, { servers: [mounted('up', 'http://127.0.0.1:9/mcp', { adapters: [entry] })] });
  const { path } = started.use(await sharedFolder());
  const { code, stdout, stderr } = await runAdapter({ config: fileConfig(path, '', wrong), env: s3.env });
  expect(code).toBe(1);
  expect(stdout + stderr).toContain('can be url only with the role in: tools write to a folder that they share');
});
