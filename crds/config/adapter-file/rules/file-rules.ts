import type { Rule } from '../../load/rules.ts';
import { needsFolder, PROFILE_NAMES, type ProfileName, writesFiles } from '../profiles/profiles.ts';
import type { Path } from '../../../../lib/json/tree.ts';
import { at, consumers, entries, isText, isTextOrNull, list } from './reading.ts';

const handlesMatchUploads: Rule = (config) => {
  const expected = at(config, 'uploads', 'uri_scheme');
  return consumers(config).flatMap(({ entry, path }) => {
    const scheme = at(entry, 'uri_scheme');
    return isText(expected) && isText(scheme) && scheme !== expected
      ? [{ path: [...path, 'uri_scheme'], message: `must be the same as uploads.uri_scheme, which is ${expected}` }]
      : [];
  });
};

const onePassing: Rule = (config) =>
  consumers(config).flatMap(({ entry, path }) => {
    const [prefix, form] = [at(entry, 'uri_prefix'), at(entry, 'pass_as')];
    const contradicts =
      (prefix === true && (form === 'path' || form === 'url')) || (prefix === false && form === 'file_uri');
    return contradicts
      ? [
          {
            path: [...path, 'pass_as'],
            message: `is ${form}, which contradicts uri_prefix ${prefix}; remove one of them`,
          },
        ]
      : [];
  });

const urlNeedsS3: Rule = (config) =>
  at(config, 'storage', 's3') === null
    ? consumers(config)
        .filter(({ entry }) => at(entry, 'pass_as') === 'url')
        .map(({ path }) => ({ path: [...path, 'pass_as'], message: 'can be url only when storage.s3 is set' }))
    : [];

/** Arguments of entries of type `files`, each with its path. */
const fileArguments = (config: unknown): { argument: unknown; path: Path }[] =>
  entries(config).flatMap(({ entry, path }) => {
    const roles = at(entry, 'type') === 'files' ? at(entry, 'arguments') : undefined;
    if (typeof roles !== 'object' || roles === null) return [];
    return Object.entries(roles).map(([name, argument]) => ({ argument, path: [...path, 'arguments', name] }));
  });

const urlsAreRead: Rule = (config) =>
  fileArguments(config).flatMap(({ argument, path }) => {
    if (at(argument, 'as') !== 'url') return [];
    const isRead = at(argument, 'role') === 'in';
    if (isRead && at(config, 'storage', 's3') !== null) return [];
    const message = `can be url only ${isRead ? 'when storage.s3 is set' : 'with the role in: tools write to a folder that they share with the adapter'}`;
    return [{ path: [...path, 'as'], message }];
  });

const patternOrKey: Rule = (config) =>
  entries(config).flatMap(({ entry, path }) =>
    list(entry, 'found').flatMap((one, index) => {
      const [pattern, key] = [at(one, 'pattern'), at(one, 'path_key')];
      if (isText(pattern) !== isText(key) || !isTextOrNull(pattern) || !isTextOrNull(key)) return [];
      return [{ path: [...path, 'found', index, 'pattern'], message: 'must be there or path_key, and not both' }];
    }),
  );

/** Servers with a profile that is known, each with its path. */
const profiles = (config: unknown): { name: ProfileName; folder: unknown; path: Path }[] =>
  list(config, 'servers').flatMap((server, index) => {
    const name = PROFILE_NAMES.find((known) => known === at(server, 'profile', 'name'));
    const path = ['servers', index, 'profile'];
    return name === undefined ? [] : [{ name, folder: at(server, 'profile', 'folder'), path }];
  });

const profilesNeedFolders: Rule = (config) =>
  profiles(config).flatMap(({ name, folder, path }) => {
    if (folder !== null || !needsFolder(name)) return [];
    const message = `needs the folder that the server writes to, as the adapter sees it: { name: ${name}, folder: /… }`;
    return [{ path, message }];
  });

const writtenFilesNeedArtifacts: Rule = (config) => {
  if (at(config, 'artifacts', 'enabled') !== false) return [];
  const message = 'needs artifacts.enabled: what the tool writes has to become an artifact';
  const written = fileArguments(config).filter(({ argument }) => at(argument, 'role') !== 'in');
  const withFound = entries(config).filter(({ entry }) => list(entry, 'found').length > 0);
  return [
    ...written.map(({ path }) => ({ path, message })),
    ...withFound.map(({ path }) => ({ path: [...path, 'found'], message })),
    ...profiles(config).flatMap(({ name, path }) => (writesFiles(name) ? [{ path, message }] : [])),
  ];
};

const structuredNeedsKey: Rule = (config) =>
  entries(config).flatMap(({ entry, path }) =>
    at(entry, 'type') === 'artifact_producer' &&
    at(entry, 'output_path_argument') === null &&
    at(entry, 'output_locator', 'mode') === 'structured' &&
    at(entry, 'output_locator', 'output_path_key') === null
      ? [
          {
            path: [...path, 'output_locator', 'output_path_key'],
            message: 'is required when output_locator.mode is structured and output_path_argument is null',
          },
        ]
      : [],
  );

const spillsNeedArtifacts: Rule = (config) => {
  if (at(config, 'artifacts', 'enabled') !== false) return [];
  const spills = (settings: unknown): boolean => {
    const chars = at(settings, 'spill_over_chars');
    return typeof chars === 'number' && chars > 0;
  };
  const message = 'must be 0 while artifacts.enabled is false: what is too long has to go somewhere';
  const ofServers = list(config, 'servers').flatMap((server, index) => {
    const path = ['servers', index, 'results'];
    const tools = at(server, 'results', 'tools');
    const names = typeof tools === 'object' && tools !== null ? Object.keys(tools) : [];
    return [path, ...names.map((name) => [...path, 'tools', name])];
  });
  return [['core', 'results'], ...ofServers]
    .filter((path) => spills(at(config, ...path)))
    .map((path) => ({ path: [...path, 'spill_over_chars'], message }));
};

/** Uploads, artifacts, and the entries of `adapters`. */
export const FILE_RULES: readonly Rule[] = [
  handlesMatchUploads,
  onePassing,
  urlNeedsS3,
  urlsAreRead,
  patternOrKey,
  profilesNeedFolders,
  writtenFilesNeedArtifacts,
  structuredNeedsKey,
  spillsNeedArtifacts,
];
