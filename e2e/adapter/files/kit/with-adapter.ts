import { type FileTools, startFileTools } from '../../../support/file-tools.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';
import { mounted } from '../../kit/deployment.ts';
import { type InProcessAdapter, startInProcess } from '../../kit/in-process.ts';
import { openSession, type Door, type Session, type SessionOptions } from '../../kit/session.ts';
import { type Lying, lying, type SharedFolder, sharedFolder } from './folder.ts';
import { fileConfig } from './settings.ts';

/** An adapter with a configuration of its own, and one session of it. */
export interface Scene {
  readonly root: string;
  readonly adapter: InProcessAdapter;
  readonly tools: FileTools;
  readonly session: Session;
  readonly door: Door;
  readonly lying: () => Promise<Lying[]>;
}

/** What all scenes of a file have in common. */
export class Scenes implements AsyncDisposable {
  readonly tools: FileTools;

  private constructor(tools: FileTools) {
    this.tools = tools;
  }

  static async open(): Promise<Scenes> {
    return new Scenes(await startFileTools());
  }

  /** With these entries in the place of `ENTRIES`, where there are some. */
  async play(
    { config = {}, entries, server = {}, ...session }: SceneOptions,
    play: (scene: Scene) => Promise<void>,
  ): Promise<void> {
    await using folder: SharedFolder = await sharedFolder();
    const servers =
      entries === undefined ? {} : { servers: [mounted('up', this.tools.url, { adapters: entries, ...server })] };
    await using adapter = await startInProcess({
      ...fileConfig(folder.path, this.tools.url, { ...servers, ...config }),
    });
    const opened = await openSession(adapter, session);
    await play({
      root: folder.path,
      adapter,
      tools: this.tools,
      session: opened,
      door: opened.at(adapter),
      lying: () => lying(folder.path),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tools.stop();
  }
}

export interface SceneOptions extends SessionOptions {
  /** Added to `fileConfig`. */
  readonly config?: JsonObject;
  readonly entries?: readonly JsonObject[];
  /** More of the entry in `servers`; only with `entries`. */
  readonly server?: JsonObject;
}
