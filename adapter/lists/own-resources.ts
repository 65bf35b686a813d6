import type { Answer } from '../exchange/answers/answer.ts';
import type { SessionRecord } from '../state/state-store.ts';

/** Resources that the adapter itself offers to a session, beside the upstream's. */
export interface OwnResources {
  /** JSON texts of `Resource` objects (MCP, resources). */
  list(record: SessionRecord): Promise<string[]>;
  /** Whether a URI is one of these, existing or not; then the upstream is not asked. */
  owns(uri: string): boolean;
  /** JSON text of a `resources/read` result; undefined when there is no such resource for this session. */
  read(record: SessionRecord, uri: string): Promise<Answer | undefined>;
}
