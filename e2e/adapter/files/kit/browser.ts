import { mounted } from '../../kit/deployment.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

/** `@playwright/mcp` as the server `browser`, with its tools that take and make files. */
export const browserServer = (url: string): JsonObject =>
  mounted('browser', url, {
    // A browser takes its time to start on a busy machine.
    tool_defaults: { tool_call_timeout_seconds: 120 },
    adapters: [
      { type: 'upload_consumer', tools: ['browser_file_upload'], file_path_argument: 'paths' },
      { type: 'artifact_producer', tools: ['browser_take_screenshot'], output_path_argument: 'filename' },
    ],
  });

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** Whether these bytes are a whole PNG, from its signature to its last chunk. */
export const isWholePng = (bytes: Buffer): boolean =>
  bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE) && bytes.subarray(-8, -4).toString('latin1') === 'IEND';
