import { stringify } from 'yaml';
import { compare } from '../catalog/canonical-json.ts';
import type { LockDocument } from '../../crds/config/lock-file/lock-document.ts';
import type { Manifest } from './read-lock.ts';

/**
 * A lock as a file: YAML, servers and names in the order of their code units, so that the file changes where the lock
 * does. Comments of an earlier file are not kept.
 * @param manifest the object of Kubernetes that it is written into
 */
export function lockText(document: LockDocument, manifest?: Manifest): string {
  const sorted = { ...document, servers: inOrder(document.servers, ofServer) };
  const whole = manifest === undefined ? sorted : { ...manifest, spec: { ...manifest.spec, ...sorted } };
  return stringify(whole, { aliasDuplicateObjects: false });
}

type Server = LockDocument['servers'][string];

/** Kinds without any entry are left out. */
function ofServer({ tools, prompts, resourceTemplates, instructions }: Server) {
  const kinds = { tools, prompts, resourceTemplates };
  const filled = Object.entries(kinds).filter(([, entries]) => Object.keys(entries).length > 0);
  return {
    ...(instructions === undefined ? {} : { instructions }),
    ...Object.fromEntries(filled.map(([kind, entries]) => [kind, inOrder(entries, (entry) => entry)])),
  };
}

const inOrder = <T, U>(entries: Readonly<Record<string, T>>, made: (entry: T) => U): Record<string, U> =>
  Object.fromEntries(
    Object.entries(entries)
      .toSorted(([a], [b]) => compare(a, b))
      .map(([name, entry]) => [name, made(entry)]),
  );
