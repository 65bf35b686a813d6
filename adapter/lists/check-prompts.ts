import { promptOf } from '../access/wishes.ts';
import { dataOf, type Drift, previewOf } from '../catalog/drift.ts';
import { hasInvisible } from '../catalog/visible-text.ts';
import { AdapterError } from '../errors.ts';
import { lockedError } from '../lock/locked-error.ts';
import type { Message } from '../exchange/message.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { askList } from '../tools/ask-list.ts';
import { firstSeen } from './first-seen.ts';
import { LISTS } from '../tools/list-of.ts';
import { listingLimit } from '../tools/listing-limit.ts';
import { REQUEST_TIMEOUT_MS } from '../path/time-limits.ts';
import type { ServerTexts } from './server-texts.ts';
import type { ToolSource } from '../tools/tool-source.ts';

/**
 * Throws for requests that use prompts which the session must not see, as calls of such tools are refused:
 * `unknown_prompt`, `prompt_definition_drift`. Where prompts are pinned, the upstream is asked what it lists now.
 */
export async function checkPrompts(
  { texts, hidesUnseen }: { readonly texts: ServerTexts; readonly hidesUnseen: boolean },
  source: ToolSource,
  record: SessionRecord,
  messages: readonly Message[],
): Promise<void> {
  if (!texts.any) return;
  const used = messages.flatMap((message) => promptIn(message) ?? []);
  if (used.length === 0) return;
  for (const { name } of used) {
    if (hidesUnseen && typeof name === 'string' && hasInvisible(name)) {
      throw new AdapterError('unknown_prompt', 'Unknown prompt: its name has invisible characters.');
    }
  }
  if (!texts.blocks && !texts.hides && !texts.locks) return;
  const first = texts.blocks ? firstSeen(texts, source, record) : undefined;
  const isPinned = first !== undefined && (isWorkspace(record) || (await first.find('prompt')) !== undefined);
  if (!isPinned && !texts.hides && !texts.locks) return;
  using limit = listingLimit(source.signal, REQUEST_TIMEOUT_MS);
  const isFresh = isPinned || texts.hides;
  const whole = await (isFresh
    ? askList(source, record, limit.signal, LISTS.prompts)
    : knownPrompts(source, record, limit.signal));
  const { hidden, listed, locked, drift } = await texts.look('prompt', whole, isPinned ? first : undefined);
  for (const { name } of used) {
    if (typeof name !== 'string') throw new AdapterError('unknown_prompt', 'The request names no prompt.');
    const refusal = locked?.refusal(name);
    if (refusal !== undefined) throw lockedError('prompt', name, refusal);
    // An upstream may know more prompts than it lists.
    if (isPinned ? !listed.has(name) : hidden.has(name)) throw unknownPrompt(name);
    if (drift === undefined || !concerns(drift, name)) continue;
    throw texts.servesSubset ? unknownPrompt(name) : drifted(visible(drift, source), record, texts.sessionlessTtlMs);
  }
}

/** The list as it was a moment ago: a lock asks once for many requests. */
async function knownPrompts(source: ToolSource, record: SessionRecord, signal: AbortSignal): Promise<string> {
  const request = source.request(record);
  const { inventory } = request;
  return (inventory.known(request, LISTS.prompts) ?? (await inventory.ask(request, signal, LISTS.prompts))).result;
}

/** Whether any of them uses a prompt. */
export const usesPrompts = (messages: readonly Message[]): boolean =>
  messages.some((one) => promptIn(one) !== undefined);

/** The prompt that a request uses: what stands where its name belongs. Undefined where it uses none. */
function promptIn({ kind, method, params }: Message & { readonly method?: string }): { name: unknown } | undefined {
  if (kind !== 'request') return undefined;
  if (method === 'prompts/get') return { name: params['name'] };
  if (method !== 'completion/complete') return undefined;
  const { type, name } = Object(params['ref']) as { type?: unknown; name?: unknown };
  return type === 'ref/prompt' ? { name } : undefined;
}

const concerns = ({ changed, added }: Drift, name: string): boolean =>
  added.includes(name) || changed.some((one) => one.name === name);

/** What the caller may hear of. */
function visible({ changed, added, removed }: Drift, { access }: Pick<ToolSource, 'access'>): Drift {
  const shows = (name: string): boolean => access?.shows(promptOf(name)) !== false;
  return {
    changed: changed.filter(({ name }) => shows(name)),
    added: added.filter(shows),
    removed: removed.filter(shows),
  };
}

const unknownPrompt = (name: string): AdapterError => new AdapterError('unknown_prompt', `Unknown prompt: ${name}`);

function drifted(drift: Drift, record: SessionRecord, sessionlessTtlMs: number): AdapterError {
  const [who, accepted] = isWorkspace(record)
    ? ['client', `They are accepted once this client has not asked for ${sessionlessTtlMs / 1000} seconds.`]
    : ['session', 'Open a new session to accept them.'];
  const detail = `Prompts of this server have changed since this ${who} saw them first: ${previewOf(drift)}. ${accepted}`;
  return new AdapterError('prompt_definition_drift', detail, { data: dataOf(drift) });
}
