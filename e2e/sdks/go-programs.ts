import { join } from 'node:path';
import { cached, runs } from './cached.ts';

export const GO_MODULE = 'github.com/modelcontextprotocol/go-sdk@v1.8.0';
const PROGRAMS = [
  'examples/client/listfeatures',
  'examples/client/loadtest',
  'examples/server/everything',
  'examples/server/memory',
  'examples/server/sequentialthinking',
  'conformance/everything-server',
];

/** The Go SDK's own programs, as published: the folder that has them. */
export const goPrograms = (): Promise<string> =>
  cached(`go-sdk-${GO_MODULE.split('@')[1]}`, async (folder) => {
    const { Dir } = JSON.parse(await runs('go', ['mod', 'download', '-json', GO_MODULE])) as { Dir: string };
    for (const one of PROGRAMS) await runs('go', ['build', '-C', Dir, '-o', join(folder, one), `./${one}`]);
  });
