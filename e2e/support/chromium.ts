import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The path of a Chromium on the PATH. Rejects when there is none. */
export async function findChromium(): Promise<string> {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
      const path = join(folder, name);
      const found = await access(path, constants.X_OK).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  throw new Error('install Chromium (apt-get install chromium)');
}
