import type { ArtifactProducer, UploadConsumer } from '../../crds/config/adapter-file/entry.ts';
import { type EffectiveServer, effectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import { AdapterError } from '../errors.ts';
import type { FileDeps } from './file-deps.ts';
import { UploadUrls } from '../files/urls/upload-urls.ts';
import { mountAdditions } from '../mount/additions.ts';
import { artifactProducer } from '../artifacts/artifact-producer.ts';
import { artifactResources } from '../artifacts/artifact-resources.ts';
import type { MountAdditions } from '../mount/create-mount.ts';
import { downloadUrl } from '../artifacts/download-url.ts';
import { downloadOf } from '../access/wishes.ts';
import { FileRulesWatch } from '../file-roles/file-rules-watch.ts';
import { Handles } from '../file-roles/handles.ts';
import { ReadCopies } from '../file-roles/read-copies.ts';
import type { RoleDeps } from '../file-roles/role-deps.ts';
import { roleTools } from '../file-roles/role-tools.ts';
import { TextKeeper } from '../spill/keep-text.ts';
import { readerTool } from '../spill/reader-tool.ts';
import type { ResultSpilling } from '../spill/result-spilling.ts';
import { Spill } from '../spill/spill.ts';
import { spillSettings, type SpillSettingsOf } from '../spill/spill-settings.ts';
import type { ToolOutputs } from '../spill/tool-outputs.ts';
import type { OwnResources } from '../lists/own-resources.ts';
import type { ToolSchemas } from '../tools/visible/tool-schemas.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import { parseArtifactUri } from '../artifacts/artifact-uri.ts';
import {
  type PassedArtifacts,
  type StagedUploads,
  type ConsumerOptions as UploadConsumerOptions,
  UploadConsumer as UploadConsumerStep,
} from '../uploads/upload-consumer.ts';
import { UploadQuestion } from '../uploads/upload-question.ts';
import { uploadUrlTool, type UploadUrlTool } from '../uploads/upload-url-tool.ts';
import type { Caller } from '../path/caller.ts';
import { mayUse } from '../sessions/file-use.ts';
import type { Workspaces } from '../sessions/workspaces.ts';
import { fileTimes, type OpenedFiles, presignTtlSeconds } from './open-files.ts';

export interface FileToolDeps extends FileDeps {
  /** `disabled_tools`, compiled. */
  readonly disabled: DisabledTools;
  readonly schemas: ToolSchemas;
  readonly outputs: ToolOutputs;
  /** Opens what belongs to clients without sessions. */
  readonly workspaces: Pick<Workspaces, 'open'>;
  /** How the client of a request reaches the adapter, without a slash at the end. */
  readonly baseUrl: (caller: Caller) => string;
  readonly warn: (message: string) => void;
  readonly known: (error: unknown) => AdapterError;
}
/** For tools that refuse their calls before they look for a file. */
const NO_FILES = {
  open: () => Promise.reject(new AdapterError('uploads_disabled')),
  url: () => Promise.resolve(undefined),
  stage: { toolPathOf: () => '' },
};

/** What files add to the tools and resources of a server. */
export function fileTools(server: EffectiveServer, parts: FileToolDeps): MountAdditions {
  const { config, opened, telemetry, warn } = parts;
  const serverId = server.id;
  // A profile is for servers of several versions, which lack some of its tools: only files that it finds are told.
  const entries = config.servers.find(({ id }) => id === serverId)?.adapters ?? [];
  const fileRules =
    server.adapters.length === 0 ? undefined : new FileRulesWatch({ serverId, entries, telemetry, warn });
  return mountAdditions(server, {
    disabled: parts.disabled,
    uploadUrl: config.uploads.enabled ? uploadUrl(server, parts) : undefined,
    uriScheme: config.uploads.uri_scheme,
    draftMaxSize: config.files.drafts ? config.uploads.max_file_bytes : undefined,
    consumer: (entry, helper) => consumer(server, entry, helper, parts),
    producer: (entry) => (opened === undefined ? undefined : producer(server, entry, opened, parts)),
    roles:
      opened &&
      roleTools(
        server,
        () => roleDeps(server, opened, parts),
        (tool, file) => fileRules?.notTaken(tool, file),
      ),
    fileRules,
    artifacts: () => (opened === undefined ? undefined : resources(server, opened, parts)),
    ...(opened !== undefined && {
      reader: () => reader(server, opened, parts),
      spilling: (settingsOf, name) => spilling(server, opened, parts, settingsOf, name),
    }),
  });
}

/** The entries have the last word. */
function resources(server: EffectiveServer, opened: OpenedFiles, parts: FileToolDeps): OwnResources | undefined {
  const { expose_as_resources: byDefault } = parts.config.artifacts;
  const exposes =
    (byDefault && spillSettings(server.results) !== undefined) ||
    server.adapters.some((entry) =>
      entry.type === 'artifact_producer'
        ? (entry.expose_as_resource ?? byDefault)
        : entry.type === 'files' && byDefault,
    );
  return artifactResources({ ...artifactDeps(server, opened, parts), exposes });
}

function reader(server: EffectiveServer, opened: OpenedFiles, { config, store, sessions }: FileToolDeps) {
  return readerTool({
    serverId: server.id,
    uriScheme: config.artifacts.uri_scheme,
    ttlMs: fileTimes(config).artifactTtlMs,
    records: store.files,
    files: opened.files,
    mayUse: ({ record }, sessionId) => mayUse(sessions, record, sessionId, config.artifacts.scope),
  });
}

function spilling(
  server: EffectiveServer,
  opened: OpenedFiles,
  parts: FileToolDeps,
  settingsOf: SpillSettingsOf,
  readerName: string | undefined,
): ResultSpilling | undefined {
  const { config, notices, telemetry, known, outputs } = parts;
  if (!config.artifacts.enabled) return undefined;
  const serverId = server.id;
  const keeper = new TextKeeper(artifactDeps(server, opened, parts));
  const makeUrl = downloads(opened, parts);
  const onFailed = (error: unknown): AdapterError => {
    const { code, message } = known(error);
    telemetry.spilled({ serverId, result: 'passed' });
    telemetry.artifactFailed({ serverId, reason: code });
    return new AdapterError(code, message);
  };
  return {
    settingsOf,
    keeper,
    outputs,
    scratch: () => opened.files.stage.scratch(),
    downloadUrl:
      makeUrl &&
      (async (file, uri, call) => {
        const mayDownload = call.caller.access?.allows(downloadOf(uri)) !== false;
        return mayDownload ? makeUrl(file, call) : undefined;
      }),
    onPassed: onFailed,
    spill: new Spill({
      keeper,
      reader: readerName,
      onFailed,
      onSpilled: (file) => {
        telemetry.spilled({ serverId, result: 'spilled' });
        telemetry.artifact({ serverId, bytes: file.sizeBytes });
        if (file.exposed) notices.resourcesChanged(file);
      },
    }),
  };
}

function producer(
  server: EffectiveServer,
  entry: ArtifactProducer,
  opened: OpenedFiles,
  parts: FileToolDeps,
): ToolStep | undefined {
  const { notices, warn, known, store } = parts;
  return artifactProducer(entry, {
    ...artifactDeps(server, opened, parts),
    allowRawOutput: server.tool_defaults.allow_raw_output,
    downloadUrl: downloads(opened, parts),
    telemetry: parts.telemetry,
    onListChanged: (session) => notices.resourcesChanged(session),
    warn,
    known,
    locksOfCalls: store,
  });
}

function roleDeps(server: EffectiveServer, opened: OpenedFiles, parts: FileToolDeps): RoleDeps {
  const { config, store, sessions, schemas, telemetry, notices, warn, known } = parts;
  const times = fileTimes(config);
  const guarded = new Set(
    config.servers.filter((one) => effectiveServer(config, one).access !== null).map(({ id }) => id),
  );
  const own = artifactDeps(server, opened, parts);
  return {
    ...own,
    readCopies: new ReadCopies({ ...own, warn }),
    keptVersions: config.files.versions,
    urlTtlSeconds: presignTtlSeconds(config),
    handles: new Handles({
      serverId: server.id,
      uploadScheme: config.uploads.uri_scheme,
      artifactScheme: config.artifacts.uri_scheme,
      uploadTtlMs: times.uploadTtlMs,
      artifactTtlMs: times.artifactTtlMs,
      records: store.files,
      sessions,
      scope: config.artifacts.scope,
      shares: (serverId) => !guarded.has(serverId),
    }),
    edits: store,
    schemas,
    telemetry,
    downloadUrl: downloads(opened, parts),
    onListChanged: (session) => notices.resourcesChanged(session),
    warn,
    known,
  };
}

function artifactDeps(server: EffectiveServer, opened: OpenedFiles, { config, store }: FileToolDeps) {
  const { files, quotas, locks } = opened;
  return { serverId: server.id, records: store.files, files, quotas, locks, artifacts: config.artifacts };
}

function uploadUrl(
  server: EffectiveServer,
  { config, store, nonces, backend, secret, telemetry, baseUrl }: FileToolDeps,
): UploadUrlTool {
  const { core, uploads } = config;
  return uploadUrlTool({
    serverId: server.id,
    urls: new UploadUrls({
      nonces,
      onIssue: (serverId, result) => telemetry.credential({ serverId, operation: 'issue', result, backend: backend() }),
      get secret() {
        return secret.value;
      },
      path: core.upload_path,
      clock: () => store.now(),
    }),
    baseUrl,
    authEnabled: core.auth.enabled,
    ttlSeconds: core.auth.signed_upload_ttl_seconds,
    pageTtlSeconds: uploads.page_url_ttl_seconds,
    maxFileBytes: uploads.max_file_bytes,
    requireSha256: uploads.require_sha256,
    uriScheme: uploads.uri_scheme,
  });
}

function consumer(
  server: EffectiveServer,
  entry: UploadConsumer,
  helper: UploadUrlTool | undefined,
  { config, store, opened, schemas, sessions, secret, workspaces }: FileToolDeps,
): UploadConsumerStep {
  const maySee: UploadConsumerOptions['mayUse'] = ({ record }, sessionId) => mayUse(sessions, record, sessionId);
  return new UploadConsumerStep({
    serverId: server.id,
    path: entry.file_path_argument.split('.'),
    uriScheme: config.uploads.uri_scheme,
    passAs: entry.pass_as ?? (entry.uri_prefix === true ? 'file_uri' : 'path'),
    urlTtlSeconds: presignTtlSeconds(config),
    enabled: config.uploads.enabled,
    ttlMs: fileTimes(config).uploadTtlMs,
    helper: helper?.name,
    records: store.files,
    files: opened?.files ?? NO_FILES,
    schemas,
    maxFileBytes: config.uploads.max_file_bytes,
    accept: entry.accept,
    uploads: stagedUploads(opened, store),
    mayUse: maySee,
    artifacts: passedArtifacts(config, sessions),
    offer: helper && ((call, elicitationId) => helper.offer(call, elicitationId)),
    question:
      helper &&
      new UploadQuestion({
        serverId: server.id,
        get secret() {
          return secret.value;
        },
        workspaces,
        mayUse: maySee,
        offer: (call, elicitationId) => helper.offer(call, elicitationId),
        isOpen: (url) => helper.isOpen(url),
        clock: () => store.now(),
      }),
  });
}

function passedArtifacts(
  { artifacts, core, servers }: FileDeps['config'],
  sessions: FileDeps['sessions'],
): PassedArtifacts | undefined {
  if (!artifacts.enabled) return undefined;
  const edits = (entry: (typeof servers)[number]['adapters'][number]): boolean =>
    entry.type === 'files' && Object.values(entry.arguments).some(({ role }) => role === 'edit');
  return {
    parse: (text) => parseArtifactUri(artifacts.uri_scheme, text),
    ttlMs: artifacts.ttl_seconds === null ? null : artifacts.ttl_seconds * 1000,
    mayUse: ({ record }, sessionId) => mayUse(sessions, record, sessionId, artifacts.scope),
    areEdited: servers.some((one) => effectiveServer({ core }, one).adapters.some(edits)),
  };
}

function stagedUploads(opened: OpenedFiles | undefined, store: FileDeps['store']): StagedUploads {
  if (opened === undefined) {
    return { stage: () => Promise.reject(new AdapterError('uploads_disabled')), remove: () => Promise.resolve() };
  }
  const { uploads, files } = opened;
  return {
    stage: (request) => uploads.stage(request),
    async remove(staged) {
      const removed = await Promise.all(staged.map((file) => store.files.remove(file).catch(() => undefined)));
      await files.discard(
        removed.filter((file) => file !== undefined),
        'failed',
      );
    },
  };
}

function downloads(
  opened: OpenedFiles,
  { config, store, secret, baseUrl }: FileToolDeps,
): Parameters<typeof artifactProducer>[1]['downloadUrl'] {
  const { core, artifacts } = config;
  if (!core.allow_artifacts_download) return undefined;
  return (file, call) =>
    downloadUrl(
      {
        secret: secret.value,
        ttlSeconds: artifacts.ttl_seconds ?? core.auth.signed_upload_ttl_seconds,
        files: opened.files,
      },
      file,
      baseUrl(call.caller),
      store.now(),
    );
}
