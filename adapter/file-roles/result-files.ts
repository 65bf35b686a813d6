import { downloadOf } from '../access/wishes.ts';
import { artifactMeta, LINK_REVISION, linkBlock, urlBlock } from '../artifacts/artifact-blocks.ts';
import { withAdditions } from '../artifacts/artifact-result.ts';
import { artifactUri } from '../artifacts/artifact-uri.ts';
import type { Span } from '../exchange/scanning/json-scan.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { ToolCall } from '../tools/visible/tool-step.ts';
import { isQuota } from '../files/store/quotas.ts';
import type { Problem } from './kept-files.ts';
import type { RoleDeps } from './role-deps.ts';

/**
 * A response with what has become of the call's files: a link and a URL for each, all of them in `_meta.artifacts`, the first also
 * in `_meta.artifact`; what was not kept in `_meta.artifact_error` (the first) and `_meta.artifact_errors`.
 */
export async function withFiles(
  { artifacts, downloadUrl, known }: Pick<RoleDeps, 'artifacts' | 'downloadUrl' | 'known'>,
  { caller, record }: Pick<ToolCall, 'caller' | 'record'>,
  message: { readonly text: string; readonly at: Span },
  { files, problems }: { readonly files: readonly FileRecord[]; readonly problems: readonly Problem[] },
): Promise<string> {
  const last: string[] = [];
  const all: string[] = [];
  for (const file of files) {
    const uri = artifactUri(artifacts.uri_scheme, file);
    const mayDownload = downloadUrl !== undefined && caller.access?.allows(downloadOf(uri)) !== false;
    // oxlint-disable-next-line no-await-in-loop -- in their order
    const url = mayDownload
      ? await downloadUrl(file, { caller }).catch((error: unknown) => void known(error))
      : undefined;
    all.push(JSON.stringify(artifactMeta(file, uri, url ?? undefined)));
    if (file.exposed && record.protocolVersion >= LINK_REVISION) last.push(linkBlock(file, uri));
    if (url !== undefined) last.push(urlBlock(file, url));
  }
  const [first] = all;
  const [problem] = problems;
  const meta: Record<string, string> = {
    ...(first !== undefined && { artifact: first, artifacts: `[${all.join(',')}]` }),
    ...(problem !== undefined && {
      artifact_error: JSON.stringify(problem),
      artifact_errors: JSON.stringify(problems),
    }),
  };
  if (Object.keys(meta).length === 0) return message.text;
  const full = problems.find(({ code }) => isQuota(code));
  const text = full && JSON.stringify({ type: 'text', text: `${full.detail} It was not kept.` });
  return withAdditions(
    message.text,
    { last, meta, ...(text !== undefined && { first: [text], isError: true as const }) },
    message.at,
  );
}
