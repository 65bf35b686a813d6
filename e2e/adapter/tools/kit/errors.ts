import { expect } from 'vitest';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import type { DriftData } from './changes.ts';

/** What a JSON-RPC error holds where a session must not get what it asks for, because tools have changed. */
export const driftError = ({ changed, new: added, removed }: DriftData): JsonObject => ({
  code: 409,
  data: { code: 'tool_definition_drift', changed, new: added, removed },
});

/** … where it asks for a tool that it must not see. Clients put words of their own before the message. */
export const unknownTool = (name: string): JsonObject => ({
  code: -32602,
  message: expect.stringContaining(`Unknown tool: ${name}`),
  data: { code: 'unknown_tool' },
});

/** What every request in an invalidated session is answered with, beside HTTP 404. */
export const INVALIDATED = { error: { code: -32001, data: { code: 'session_invalidated' } } };
