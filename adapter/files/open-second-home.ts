import type { S3 } from '../../crds/config/storage.ts';
import type { SecondHome } from './second-home.ts';

/** The second home that is configured. The SDK takes a while to load, and memory, so only who needs it pays for it. */
export async function openSecondHome(s3: S3 | null): Promise<SecondHome | undefined> {
  if (s3 === null) return undefined;
  const { S3Home } = await import('./s3-home.ts');
  return new S3Home(s3);
}
