import type { FileRecord } from '../state/file-records.ts';

/** What `_meta.artifact` says of an artifact, as the original adapter has it; `version` of edited files. */
export function artifactMeta(file: FileRecord, uri: string, url: string | undefined): object {
  return {
    artifact_uri: uri,
    artifact_id: file.fileId,
    filename: file.filename,
    mime_type: file.mimeType,
    size_bytes: file.sizeBytes,
    expose_as_resource: file.exposed,
    ...(file.version === undefined ? {} : { version: file.version }),
    ...(url === undefined ? {} : { download_url: url }),
  };
}

/** A content block that links to an artifact (MCP 2025-06-18); JSON text. */
export function linkBlock({ filename, mimeType, sizeBytes, toolName }: FileRecord, uri: string): string {
  const description = `File that the tool ${toolName ?? ''} produced`;
  return JSON.stringify({ type: 'resource_link', uri, name: filename, description, mimeType, size: sizeBytes });
}

/** A content block with the URL at which an artifact can be downloaded; JSON text. */
export function urlBlock({ filename }: FileRecord, url: string): string {
  return JSON.stringify({ type: 'text', text: `Download ${filename}: ${url}\n[${filename}](${url})` });
}

/** The first revision with resource links in results. */
export const LINK_REVISION = '2025-06-18';
