import type { Backend, Telemetry } from '../telemetry/telemetry.ts';
import type { UploadNonces } from './upload-nonces.ts';

/** Nonces of which telemetry is told when one is reserved or used up. `backend`: what keeps them at this moment. */
export function observedNonces(
  nonces: UploadNonces,
  telemetry: Pick<Telemetry, 'nonce'>,
  backend: () => Backend,
): UploadNonces {
  return {
    async issue(nonce, permission, now) {
      const isNew = await nonces.issue(nonce, permission, now);
      const result = isNew ? 'success' : 'collision';
      telemetry.nonce({ serverId: permission.serverId, operation: 'reserve', result, backend: backend() });
      return isNew;
    },
    find: (nonce, now) => nonces.find(nonce, now),
    async consume(nonce, now) {
      const permission = await nonces.consume(nonce, now);
      const result = permission === undefined ? 'invalid' : 'success';
      // Of one that is gone nobody knows whose it was.
      telemetry.nonce({ serverId: permission?.serverId ?? '', operation: 'consume', result, backend: backend() });
      return permission;
    },
  };
}
