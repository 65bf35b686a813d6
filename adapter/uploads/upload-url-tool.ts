import type { SignedUploadUrl, UploadUrls } from '../files/urls/upload-urls.ts';
import { MAX_FILES } from '../files/uploads/upload-form.ts';
import type { Caller } from '../path/caller.ts';
import type { ToolCall, ToolStep } from '../tools/visible/tool-step.ts';
import { uploadWorkflow } from './upload-workflow.ts';

export interface UploadUrlToolOptions {
  readonly serverId: string;
  readonly urls: UploadUrls;
  /** How clients reach us, as far as this request tells. */
  readonly baseUrl: (caller: Caller) => string;
  /** `core.auth.enabled`. */
  readonly authEnabled: boolean;
  /** `core.auth.signed_upload_ttl_seconds`. */
  readonly ttlSeconds: number;
  /** `uploads.page_url_ttl_seconds`. */
  readonly pageTtlSeconds: number;
  readonly maxFileBytes: number;
  readonly requireSha256: boolean;
  readonly uriScheme: string;
}

/** The tool that tells a client where to upload files to, and what goes with it. */
export interface UploadUrlTool {
  readonly name: string;
  /** JSON text of the tool's definition. */
  readonly definition: string;
  readonly step: ToolStep;
  /** The text of `doc://upload_workflow.md`. */
  readonly workflow: string;
  /** A URL for a person who shall upload what this call lacks (MCP, elicitation in URL mode). */
  offer(call: ToolCall, elicitationId: string | null): Promise<SignedUploadUrl>;
  /** Whether a URL that `offer` made is still good. */
  isOpen(url: string): Promise<boolean>;
}

/** What names of the adapter's own tools begin with: the server's id, with `_` for what is no letter or digit. */
export function toolPrefix(serverId: string): string {
  const prefix = serverId.replaceAll(/[^A-Za-z0-9_]+/g, '_').replaceAll(/^_+|_+$/g, '');
  return prefix === '' ? 'server' : prefix;
}

/** `{prefix}_get_upload_url` (specification, section 4). */
export const uploadUrlToolName = (serverId: string): string => `${toolPrefix(serverId)}_get_upload_url`;

export function uploadUrlTool(options: UploadUrlToolOptions): UploadUrlTool {
  const { serverId, urls, authEnabled } = options;
  const name = uploadUrlToolName(serverId);
  const permission = ({ record }: ToolCall) => ({
    serverId,
    sessionId: record.sessionId,
    principal: record.principal,
    toolName: null,
    elicitationId: null,
  });
  return {
    name,
    definition: JSON.stringify(definitionOf(name)),
    workflow: uploadWorkflow({ tool: name, ...options }),
    step: {
      needsHome: true,
      async prepare(call) {
        const base = options.baseUrl(call.caller);
        const page = await urls.sign(base, permission(call), options.pageTtlSeconds);
        const upload = authEnabled ? await urls.sign(base, permission(call), options.ttlSeconds) : undefined;
        const answer = describe(options, name, {
          sessionId: call.record.sessionId,
          url: upload?.url ?? urls.plain(base, serverId),
          expiresAt: upload?.expiresAt ?? page.expiresAt,
          page,
        });
        const content = [{ type: 'text', text: JSON.stringify(answer) }];
        return { kind: 'result', result: JSON.stringify({ content, structuredContent: answer }) };
      },
    },
    async offer(call, elicitationId) {
      const asked = { ...permission(call), toolName: call.tool, elicitationId };
      return urls.sign(options.baseUrl(call.caller), asked, options.pageTtlSeconds);
    },
    isOpen: (url) => urls.isOpen(url),
  };
}

function definitionOf(name: string): Record<string, unknown> {
  return {
    name,
    title: 'Get an upload URL',
    description:
      'Says where to upload files that another tool of this server takes as input. Upload them there with an HTTP POST ' +
      '(multipart/form-data), for example with the curl command in the result, then pass the upload handles from the ' +
      'answer to that tool. Paths of your own machine mean nothing to this server. If you cannot send HTTP requests, ' +
      'give page_url to the user, who can open it in a browser and upload there. Takes no arguments.',
    inputSchema: { type: 'object', properties: {}, additionalProperties: false },
    annotations: { title: 'Get an upload URL', readOnlyHint: true, idempotentHint: true, openWorldHint: false },
  };
}

/** What the tool answers; names and their order are those of the original adapter. */
function describe(
  options: UploadUrlToolOptions,
  tool: string,
  at: { sessionId: string; url: string; expiresAt: number; page: SignedUploadUrl },
): Record<string, unknown> {
  const { serverId, authEnabled, ttlSeconds, requireSha256 } = options;
  const curl = (files: readonly string[]): string => {
    const fields = files.map((file) => {
      const hash = requireSha256 ? ` -F "sha256=<sha256 of ${file}>"` : '';
      return `${hash} -F "file=@${file}"`;
    });
    return `curl -X POST "${at.url}" -H "Mcp-Session-Id: ${at.sessionId}"${fields.join('')}`;
  };
  return {
    server_id: serverId,
    tool_name: tool,
    upload_url: at.url,
    method: 'POST',
    headers: { 'Mcp-Session-Id': at.sessionId },
    auth_mode: authEnabled ? 'signed_upload_credentials' : 'header_token_or_none',
    credential_ttl_seconds: authEnabled ? ttlSeconds : null,
    field_name: 'file',
    supports_multiple_files: true,
    sha256_required: requireSha256,
    sha256_field_name: 'sha256',
    sha256_per_file: true,
    session_id: at.sessionId,
    example_curl: curl(['/path/to/file']),
    example_curl_multiple: curl(['/path/to/first', '/path/to/second']),
    note:
      `Upload first, then pass the handles from upload_handles to the tool that takes the files. Up to ${MAX_FILES} files ` +
      `and ${options.maxFileBytes} bytes for each.` +
      (authEnabled ? ' The URL is good for one upload; call this tool again for another.' : ''),
    integrity_note: requireSha256
      ? 'Send one sha256 field for each file, in the order of the files: 64 hexadecimal digits. Files that do not match are refused.'
      : 'To have the transfer checked, send one sha256 field for each file, in the order of the files. It may be left out.',
    page_url: at.page.url,
    expires_at: new Date(at.expiresAt).toISOString(),
    page_expires_at: new Date(at.page.expiresAt).toISOString(),
  };
}
