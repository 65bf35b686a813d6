import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface KeyPair {
  readonly key: string;
  readonly cert: string;
}

/** An authority of its own, made by openssl in a temporary folder. */
export class Authority {
  readonly folder: string;
  readonly cert: string;

  private constructor(folder: string, cert: string) {
    this.folder = folder;
    this.cert = cert;
  }

  static async create(): Promise<Authority> {
    const folder = await mkdtemp(join(tmpdir(), 'authority-'));
    const files = ['-keyout', join(folder, 'ca.key'), '-out', join(folder, 'ca.pem'), '-days', '1'];
    await run('openssl', ['req', '-x509', ...NEW_KEY, ...files, '-subj', '/CN=Test authority']);
    return new Authority(folder, await readFile(join(folder, 'ca.pem'), 'utf8'));
  }

  /** A key with a certificate for these names, such as `DNS:localhost`. */
  async issue(names: string): Promise<KeyPair> {
    const [key, request, cert, extensions] = ['key', 'csr', 'pem', 'ext'].map((end) =>
      join(this.folder, `leaf.${end}`),
    );
    if (key === undefined || request === undefined || cert === undefined || extensions === undefined) throw new Error();
    await writeFile(extensions, `subjectAltName=${names}\n`);
    await run('openssl', ['req', ...NEW_KEY, '-keyout', key, '-out', request, '-subj', '/CN=leaf']);
    const authority = ['-CA', join(this.folder, 'ca.pem'), '-CAkey', join(this.folder, 'ca.key'), '-CAcreateserial'];
    const files = ['-in', request, '-out', cert, '-extfile', extensions, '-days', '1'];
    await run('openssl', ['x509', '-req', ...authority, ...files]);
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true });
  }
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
