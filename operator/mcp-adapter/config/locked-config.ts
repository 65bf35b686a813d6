import type { McpAdapter } from '../../../crds/v1alpha1/mcp-adapter.ts';
import { LOCK_FILE, LOCK_FOLDER } from './defaults.ts';

/**
 * The resource with the file of its McpToolLock, also where it names one of its own: who may write the adapter is not
 * always who may approve its tools.
 */
export function locked(adapter: McpAdapter): McpAdapter {
  const { config } = adapter.spec;
  const core = { ...config.core, tool_lock: { path: `${LOCK_FOLDER}/${LOCK_FILE}` } };
  return { ...adapter, spec: { ...adapter.spec, config: { ...config, core } } };
}
