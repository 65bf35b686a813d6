import type { ArtifactProducer, UploadConsumer } from '../../crds/config/adapter-file/entry.ts';
import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { UPLOAD } from '../access/wishes.ts';
import { withGuidance } from '../catalog/consumer-guidance.ts';
import type { OwnTool } from '../catalog/catalog.ts';
import type { DisabledTools } from '../catalog/disabled-tools.ts';
import type { MountAdditions } from './create-mount.ts';
import type { OwnResources } from '../lists/own-resources.ts';
import { type SingleEntry, toolEntries } from '../tools/settings.ts';
import { ToolMap } from '../tools/tool-map.ts';
import type { RoleTools } from '../file-roles/role-tools.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import type { UploadUrlTool } from '../uploads/upload-url-tool.ts';
import type { readerTool } from '../spill/reader-tool.ts';
import type { ResultSpilling } from '../spill/result-spilling.ts';
import { spillSettings, type SpillSettingsOf } from '../spill/spill-settings.ts';
import { joinedResources, workflowResource } from '../lists/workflow-resource.ts';

export interface AdditionDeps {
  /** `disabled_tools`, compiled. */
  readonly disabled: DisabledTools;
  /** Undefined while uploads are off. */
  readonly uploadUrl: UploadUrlTool | undefined;
  /** `uploads.uri_scheme`. */
  readonly uriScheme: string;
  /** `uploads.max_file_bytes` with `files.drafts`; undefined without. */
  readonly draftMaxSize?: number | undefined;
  /** `helper` is undefined where the tool is hidden. */
  readonly consumer: (entry: UploadConsumer, helper: UploadUrlTool | undefined) => ToolStep;
  /** Undefined for an entry that changes nothing. */
  readonly producer: (entry: ArtifactProducer) => ToolStep | undefined;
  /** Told what the server lists; undefined without entries. */
  readonly fileRules?: MountAdditions['fileRules'];
  /** Tools whose arguments are files by their roles; undefined where there are none. */
  readonly roles?: RoleTools | undefined;
  readonly artifacts: () => OwnResources | undefined;
  /** Undefined where results pass whatever their length. `reader`: the tool that reads artifacts, where clients see it. */
  readonly spilling?: (settingsOf: SpillSettingsOf, reader: string | undefined) => ResultSpilling | undefined;
  readonly reader?: () => ReturnType<typeof readerTool>;
}

/** What the adapter adds to a server as its configuration says. */
export function mountAdditions(server: EffectiveServer, parts: AdditionDeps): MountAdditions {
  const { uploadUrl, disabled } = parts;
  const helper = uploadUrl !== undefined && !disabled.matches(uploadUrl.name) ? uploadUrl : undefined;
  const { roles } = parts;
  const steps = new ToolMap<ToolStep>([], roles?.stepOf);
  const transforms = new ToolMap<(tool: string) => string>([], roles?.guidanceOf);
  const made = new Map<SingleEntry, ToolStep | undefined>();
  let isProducer = false;
  for (const [tool, entry] of toolEntries(server)) {
    if (!made.has(entry)) {
      made.set(entry, entry.type === 'upload_consumer' ? parts.consumer(entry, helper) : parts.producer(entry));
    }
    const step = made.get(entry);
    if (step === undefined) continue;
    steps.set(tool, step);
    if (entry.type === 'artifact_producer') isProducer = true;
    // While uploads are off there is nothing that a model could do.
    else if (uploadUrl !== undefined) transforms.set(tool, guidance(server, entry, parts, helper?.name));
  }
  if (helper !== undefined) steps.set(helper.name, helper.step);
  const own: OwnTool[] = helper === undefined ? [] : [{ ...helper, wish: UPLOAD }];
  const settingsOf = spillSettings(server.results);
  const isOwn = (tool: string): boolean => own.some(({ name }) => name === tool);
  const reads = settingsOf !== undefined || roles?.finds === true;
  const reader = reads ? visible(parts.reader?.(), disabled) : undefined;
  const spilling = settingsOf && parts.spilling?.((tool) => (isOwn(tool) ? undefined : settingsOf(tool)), reader?.name);
  if (reader !== undefined && (spilling !== undefined || roles?.finds === true)) {
    steps.set(reader.name, reader.step);
    own.push(reader);
  }
  return {
    steps,
    transforms,
    ...(spilling !== undefined && { dropsSchema: (tool) => settingsOf?.(tool)?.dropsStructured === true }),
    own: own.map(({ name, definition, wish }) => ({ name, definition, ...(wish && { wish }) })),
    resources: joinedResources(
      [
        helper && workflowResource(helper.workflow),
        isProducer || spilling !== undefined || roles !== undefined ? parts.artifacts() : undefined,
      ].filter((one) => one !== undefined),
    ),
    spilling,
    fileRules: parts.fileRules,
  };
}

function visible<T extends OwnTool>(tool: T | undefined, disabled: DisabledTools): T | undefined {
  return tool === undefined || disabled.matches(tool.name) ? undefined : tool;
}

function guidance(
  server: EffectiveServer,
  entry: UploadConsumer,
  { uriScheme, draftMaxSize: maxSize }: Pick<AdditionDeps, 'uriScheme' | 'draftMaxSize'>,
  helper: string | undefined,
): (tool: string) => string {
  const options = {
    path: entry.file_path_argument.split('.'),
    uriScheme,
    helper,
    draft: maxSize === undefined ? undefined : { accept: entry.accept, maxSize },
    summaryWords: server.shorten_descriptions ? server.short_description_max_tokens : null,
  };
  return (tool) => withGuidance(tool, options);
}
