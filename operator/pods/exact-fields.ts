import type { ExactField } from '../apply/exact-fields.ts';
import { CONFIG_MAPS, DEPLOYMENTS, INGRESSES, SERVICES } from '../kubernetes/resources.ts';

/** What nobody adds to with good reason: it would change who is reached, how pods are replaced, or what goes when. */
export const EXACT_FIELDS: readonly ExactField[] = [
  { path: ['metadata', 'ownerReferences'], keys: { uid: undefined }, onlyWhenSet: true },
  { resource: DEPLOYMENTS, path: ['spec', 'strategy'] },
  { resource: SERVICES, path: ['spec', 'ports'], keys: { port: undefined, protocol: 'TCP' } },
  { resource: INGRESSES, path: ['spec', 'defaultBackend'] },
  { resource: INGRESSES, path: ['spec', 'tls'] },
  { resource: CONFIG_MAPS, path: ['data'] },
  { resource: CONFIG_MAPS, path: ['binaryData'] },
];
