import { MAX_FILES } from '../files/uploads/upload-form.ts';

/** The text of `doc://upload_workflow.md`: how a model gets a file to a tool of this server. */
export function uploadWorkflow(options: {
  readonly tool: string;
  readonly maxFileBytes: number;
  readonly requireSha256: boolean;
  readonly uriScheme: string;
}): string {
  const { tool, maxFileBytes, requireSha256, uriScheme } = options;
  const hashes = requireSha256
    ? 'This server requires `sha256`: one field for each file, in the order of the files, with 64 hexadecimal digits.'
    : 'To have the transfer checked, add the field `sha256` once for each file, in the order of the files.';
  return `# How to give a file to a tool of this server

The tools of this server run on another machine. They cannot see your files, so a path of your machine, or of the user's,
means nothing to them. A file is uploaded first, and the tool is given the handle of the upload.

## 1. Upload

1. Call the tool \`${tool}\`. It takes no arguments.
2. Send the files to \`upload_url\` from its result, with the headers from \`headers\`: an HTTP POST of the type
   multipart/form-data, with the field \`file\` once for each file. The result has a curl command that is ready to use; on
   Windows call it \`curl.exe\`.
3. ${hashes}

Up to ${MAX_FILES} files in one request, and ${maxFileBytes} bytes for each. Either all files of a request are stored or none.

If you cannot send HTTP requests, give \`page_url\` from the result to the user. It opens a page to upload on, which shows
the handles afterwards; ask the user for them. The link works once and for a short time.

## 2. Use

The answer is JSON. \`upload_handles\` has the handles in the order of the files, and \`upload_handle\` the only one when there
was one file. Handles look like \`${uriScheme}sessions/…\`. Pass them, unchanged, where the tool asks for a file or a path.

A handle works in this session only, and ends some time after its last use. If a tool says that it does not know a
handle, upload the file again.
`;
}
