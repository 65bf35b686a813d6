import { asObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { Place } from '../../kit/session.ts';

/** How many bytes all files take up, as the store counts them; those that are about to come are counted too. */
export async function storedBytes(place: Place): Promise<number> {
  const health = asObject(await (await fetch(`${place.url}/healthz`)).json());
  const { uploads_bytes: uploads, artifacts_bytes: artifacts } = asObject(
    asObject(health['persistence'])['state_inventory'],
  );
  return Number(uploads) + Number(artifacts);
}
