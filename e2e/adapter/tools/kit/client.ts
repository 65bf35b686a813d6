import { connectV1 } from '../../../support/real-client-v1.ts';
import { connectV2 } from '../../../support/real-client-v2.ts';
import type { Answers, RealClient } from '../../../support/real-client.ts';
import type { JsonObject } from '../../../support/scripted-upstream/json-rpc.ts';

export type Connect = (url: string) => Promise<RealClient>;

const answers: Answers = { sampling: '', elicitation: { action: 'decline' }, roots: [] };

/** Both SDKs by name; each client has a session of its own, which may have ended before the client does. */
export const SDKS: readonly (readonly [sdk: string, connect: Connect])[] = [
  ['v1', async (url) => leaving(await connectV1({ url, transport: 'streamable_http', answers }))],
  ['v2', async (url) => leaving(await connectV2({ url, transport: 'streamable_http', answers }))],
];

const leaving = (client: RealClient): RealClient => ({
  ...client,
  async [Symbol.asyncDispose]() {
    await client.close().catch((error: unknown) => {
      if (!/Failed to terminate session: Not Found/.test(String(error))) throw error;
    });
  },
});

/** The definitions in a result of tools/list. */
export const toolsOf = ({ tools }: JsonObject): JsonObject[] => tools as JsonObject[];

/** All pages. */
export async function listOf(client: RealClient): Promise<JsonObject[]> {
  const tools: JsonObject[] = [];
  let cursor: unknown;
  do {
    const page = await client.request('tools/list', cursor === undefined ? {} : { cursor });
    tools.push(...toolsOf(page));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

/** Resolves when the client has been told so often, since it began, that the tools have changed. */
export async function told(client: RealClient, times: number): Promise<void> {
  let count = 0;
  await client.waitForMessage(({ method }) => method === 'notifications/tools/list_changed' && (count += 1) >= times);
}
