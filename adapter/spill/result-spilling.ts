import type { ScratchFile } from '../files/disk/scratch-file.ts';
import type { FileRecord } from '../state/file-records.ts';
import type { CapturedCall } from '../artifacts/producer-settings.ts';
import type { TextKeeper } from './keep-text.ts';
import type { Spill } from './spill.ts';
import type { SpillSettingsOf } from './spill-settings.ts';
import type { ToolOutputs } from './tool-outputs.ts';

/** What the results of one server need to become shorter. */
export interface ResultSpilling {
  readonly settingsOf: SpillSettingsOf;
  readonly spill: Spill;
  readonly keeper: Pick<TextKeeper, 'hold' | 'count' | 'drop'>;
  readonly outputs: Pick<ToolOutputs, 'of'>;
  readonly scratch: () => Promise<ScratchFile>;
  /** The URL by which an artifact can be downloaded; undefined without `core.allow_artifacts_download`. */
  readonly downloadUrl:
    | ((file: FileRecord, uri: string, call: CapturedCall) => Promise<string | undefined>)
    | undefined;
  /** A result passes as it was. Returns what the client may know of the reason. */
  readonly onPassed: (error: unknown) => { readonly code: string; readonly message: string };
}
