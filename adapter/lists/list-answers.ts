import { downloadOf } from '../access/wishes.ts';
import { listedOwn, ownToolsOnly } from '../catalog/catalog.ts';
import { insertElements } from '../catalog/insert-elements.ts';
import { AdapterError, rpcErrorText, upstreamNotJson } from '../errors.ts';
import { locate, splice } from '../exchange/scanning/json-scan.ts';
import { type Body, isResponseTo, type Message, METHOD_NOT_FOUND } from '../exchange/message.ts';
import { isWorkspace } from '../sessions/workspace.ts';
import type { SessionRecord } from '../state/state-store.ts';
import { checked, isJson } from '../exchange/scanning/checked.ts';
import { eachMessage, isArray } from '../exchange/scanning/each-message.ts';
import { LISTS, type ListName } from '../tools/list-of.ts';
import { ambiguities, checkedList, keptResultOf, resultOf } from './read-list.ts';
import { otherList } from './other-list.ts';
import { inOwnTurn } from '../../lib/stream/own-turn.ts';
import type { OwnResources } from './own-resources.ts';
import { ownTasks } from '../sessions/session-tasks.ts';
import type { Page, VisibleCatalog } from '../tools/visible/visible-catalog.ts';
import type { RevisionProbe } from '../upstream/revision-probe.ts';
import type { ListCache } from '../upstream/list-cache.ts';
import type { ServerTexts } from './server-texts.ts';
import type { TaskStore } from '../sessions/session-tasks.ts';
import type { Seer, ToolSource } from '../tools/tool-source.ts';

/** What a request asks for a list of, as far as the adapter may have something to say about it. */
interface Listing {
  readonly kind: ListName;
  /** The adapter's own tools and resources stand on the first one. */
  readonly page: Page;
}

const KINDS: ReadonlyMap<string, ListName> = new Map(
  (Object.keys(LISTS) as ListName[]).map((kind) => [LISTS[kind].method, kind]),
);
const NO_RESOURCES = '{"resources":[]}';
const NO_TEMPLATES = '{"resourceTemplates":[]}';

/** What a server's lists are made of. */
export interface ListedMount {
  readonly visibleCatalog: VisibleCatalog;
  readonly texts: ServerTexts;
  /** Undefined when the adapter adds none to the upstream's. */
  readonly resources: OwnResources | undefined;
  readonly lists: ListCache;
  readonly revisions: RevisionProbe;
}

/** For whom a list is made. */
export interface ListAsker {
  readonly mount: ListedMount;
  readonly source: ToolSource;
  readonly tasks: TaskStore;
  /** Any failure as the error to answer with. */
  readonly known: (error: unknown) => AdapterError;
}

/** Whether these messages ask for a list that the adapter may have something to say about. */
export const asksForLists = (messages: readonly Message[]): boolean =>
  messages.some((message) => message.kind === 'request' && KINDS.has(message.method));

/** How the answer to these requests must be changed or kept on its way; undefined when it passes as it is. */
export function listAnswer(
  asker: ListAsker,
  body: Body,
  list: string | undefined,
  record: () => SessionRecord,
): ((text: string) => string | Promise<string>) | undefined {
  const { mount } = asker;
  if (body.batch) return batchAnswer(asker, body, record);
  const listing = listingOf(body.messages[0] as Message);
  const isChanged = changes(asker, listing);
  const isKept = list !== undefined && mount.lists.enabled && !mount.visibleCatalog.isStrict;
  const isPassed = listing?.kind === 'tools' && mount.visibleCatalog.readsNames;
  if (!isKept) {
    if (isPassed) return (text) => passed(mount, text);
    if (!isChanged) return undefined;
    const shown = (text: string): string | Promise<string> =>
      isArray(text) ? resumedAnswer(asker, record(), text) : shownMessage(asker, record(), checkedList(text), listing);
    return (text) => inOwnTurn(text, shown);
  }
  const finish = (out: string): string | Promise<string> => {
    keep(mount, record(), out, list, isChanged);
    if (isPassed) passed(mount, out);
    return hasOwnResources(mount, listing) ? withOwnResources(mount.resources, asker.source, record(), out) : out;
  };
  const shown = (text: string): string | Promise<string> => {
    // No answer to one request; clients take the one in it all the same.
    if (isArray(text)) return resumedAnswer(asker, record(), text);
    const out = isChanged ? sameForSession(asker, record(), checkedList(text), listing) : text;
    return typeof out === 'string' ? finish(out) : out.then((own) => inOwnTurn(own, finish));
  };
  return (text) => inOwnTurn(text, shown);
}

/** A list that nothing is to be done to, but to read the names in it. */
function passed(mount: ListedMount, text: string): string {
  const result = isJson(text) ? locate(text, ['result']) : undefined;
  if (result !== undefined) mount.visibleCatalog.passed(text.slice(result.start, result.end));
  return text;
}

/** A result that was kept, as this session gets it. */
export function cachedList(
  mount: ListedMount,
  source: Seer,
  record: SessionRecord,
  message: Message,
  result: string,
): string | Promise<string> {
  if (mount.resources === undefined || !hasOwnResources(mount, listingOf(message))) return result;
  return ownResources(mount.resources, source, record).then((own) => withResources(result, own));
}

/**
 * A response that is taken up again on another stream, or comes where it was not asked for; what had been asked is not
 * known here.
 */
export function resumedAnswer(asker: ListAsker, record: SessionRecord, text: string): string | Promise<string> {
  return eachMessage(checked(text), (message) => {
    const shown = resumedMessage(asker, record, message);
    if (typeof shown === 'string') return shown;
    return shown.catch((error: unknown) => refused(asker, error, idOf(message)));
  });
}

function resumedMessage(asker: ListAsker, record: SessionRecord, message: string): string | Promise<string> {
  const has = (member: string): boolean => locate(message, ['result', member]) !== undefined;
  const kind = (['tools', 'resources', 'prompts', 'templates'] as const).find((one) => has(LISTS[one].member));
  // The result of a call or a read may have members of these names; then there is nothing to add to them.
  const isContent = has('content') || has('contents');
  if (kind !== undefined) {
    const listing = { kind, page: isContent ? 'later' : 'unknown' } as const;
    return changes(asker, listing) ? shownMessage(asker, record, message, listing) : message;
  }
  const isOfTasks = !isContent && (has('task') || has('tasks'));
  return isOfTasks ? ownTasks(asker.tasks, record, message) : message;
}

/** Whether an upstream without sessions has nothing to say about a list, so that all of it is the adapter's own. */
export function isOwnListOnly(
  mount: Pick<ListedMount, 'visibleCatalog' | 'resources' | 'revisions'>,
  message: Message,
): boolean {
  const listing = listingOf(message);
  if (listing === undefined) return false;
  if (listing.kind === 'tools')
    return listedOwn(mount.visibleCatalog.catalog).length > 0 && mount.revisions.lacks('tools');
  return listing.kind !== 'prompts' && mount.resources !== undefined && mount.revisions.lacks('resources');
}

/** The result of such a list (JSON text). */
export async function ownList(
  mount: Pick<ListedMount, 'visibleCatalog' | 'resources'>,
  source: Seer,
  record: SessionRecord,
  message: Message,
): Promise<string> {
  const listing = listingOf(message);
  if (listing?.kind === 'tools') return ownToolsOnly(mount.visibleCatalog.listedOwn(source));
  if (!hasOwnResources(mount, listing)) return listing?.kind === 'resources' ? NO_RESOURCES : NO_TEMPLATES;
  return withResources(NO_RESOURCES, await ownResources(mount.resources, source, record));
}

function listingOf(message: Message): Listing | undefined {
  const kind = message.kind === 'request' ? KINDS.get(message.method) : undefined;
  if (kind === undefined) return undefined;
  const { cursor, _meta, ...others } = message.params;
  if (cursor !== undefined && cursor !== null) return { kind, page: 'later' };
  // What else is asked for may leave out some.
  return { kind, page: Object.keys(others).length === 0 ? 'first' : 'unknown' };
}

function changes(asker: ListAsker, listing: Listing | undefined): boolean {
  if (listing === undefined) return false;
  const { mount } = asker;
  return looksAt(asker, listing.kind) || (listing.kind !== 'prompts' && mount.resources !== undefined);
}

/** Whether a list of this kind is not just the upstream's, beside what is added to it. */
function looksAt({ mount: { visibleCatalog, texts }, source }: ListAsker, kind: ListName): boolean {
  if (source.access !== undefined) return true;
  return kind === 'tools' ? visibleCatalog.any : texts.any || (kind === 'resources' && visibleCatalog.hidesTools);
}

function hasOwnResources<T extends Pick<ListedMount, 'resources'>>(
  mount: T,
  listing: Listing | undefined,
): mount is T & { readonly resources: OwnResources } {
  return mount.resources !== undefined && listing?.kind === 'resources' && listing.page !== 'later';
}

/** Requests for lists in a batch, whose answers come as an array or one by one. */
function batchAnswer(
  asker: ListAsker,
  body: Body,
  record: () => SessionRecord,
): ((text: string) => string | Promise<string>) | undefined {
  const asked = body.messages.flatMap((message) => {
    const listing = listingOf(message);
    return message.kind === 'request' && changes(asker, listing) ? [{ idText: message.idText, listing }] : [];
  });
  if (asked.length === 0) return undefined;
  return (text) =>
    eachMessage(checked(text), (message) => {
      const request = asked.find(({ idText }) => isResponseTo(message, idText));
      if (request === undefined) return message;
      const { idText, listing } = request;
      const shown = shownMessage(asker, record(), message, listing);
      // What a session must not see takes nothing from the other answers.
      return typeof shown === 'string' ? shown : shown.catch((error: unknown) => refused(asker, error, idText));
    });
}

function refused({ known }: ListAsker, error: unknown, idText: string): string {
  const { code, message, data } = known(error);
  return rpcErrorText(code, message, idText, data);
}

/** One response message as the client may see it. */
function shownMessage(
  asker: ListAsker,
  record: SessionRecord,
  text: string,
  listing: Listing | undefined,
): string | Promise<string> {
  const { mount } = asker;
  const out = sameForSession(asker, record, text, listing);
  if (!hasOwnResources(mount, listing)) return out;
  return Promise.resolve(out).then((shown) => withOwnResources(mount.resources, asker.source, record, shown));
}

/** What stays the same for as long as the session and the upstream's list do, and may be kept. */
function sameForSession(
  asker: ListAsker,
  record: SessionRecord,
  text: string,
  listing: Listing | undefined,
): string | Promise<string> {
  const { mount } = asker;
  const result = resultOf(text);
  if (result === undefined) return isUnknownMethod(text) ? insteadOfError(asker, record, text, listing) : text;
  if (listing === undefined) return text;
  const { kind } = listing;
  if (kind !== 'tools' && !looksAt(asker, kind)) return text;
  if (ambiguities[kind](text)) {
    throw new AdapterError(
      'upstream_failed',
      `The upstream server lists its ${LISTS[kind].words} in a way that clients may read differently.`,
    );
  }
  const listed = text.slice(result.start, result.end);
  const shown =
    kind === 'tools'
      ? mount.visibleCatalog.shown(asker.source, record, listed, listing.page)
      : otherList(mount, asker.source, record, kind, listed, listing.page);
  return shown.then((own) => splice(text, [{ ...result, with: isWorkspace(record) ? asPrivate(asker, own) : own }]));
}

/** Where lists are pinned, or not all see the same, no shared cache may keep what one client without a session sees. */
function asPrivate({ mount, source }: ListAsker, result: string): string {
  const scope = mount.texts.pins || source.access !== undefined ? locate(result, ['cacheScope']) : undefined;
  return scope === undefined ? result : splice(result, [{ ...scope, with: '"private"' }]);
}

/** An upstream without tools or resources does not know their lists; the adapter has told the client of its own. */
function insteadOfError(
  { mount, source }: ListAsker,
  record: SessionRecord,
  text: string,
  listing: Listing | undefined,
): string {
  if (listing?.kind === 'tools') {
    // It has told this session of tools before.
    if (record.baseline !== null) return text;
    const { visibleCatalog } = mount;
    if (listedOwn(visibleCatalog.catalog).length === 0 || listing.page === 'later') return text;
    return answer(text, ownToolsOnly(visibleCatalog.listedOwn(source)));
  }
  if (listing === undefined || listing.kind === 'prompts' || mount.resources === undefined) return text;
  return answer(text, listing.kind === 'resources' ? NO_RESOURCES : NO_TEMPLATES);
}

function answer(error: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${idOf(error)},"result":${result}}`;
}

function idOf(message: string): string {
  const id = locate(message, ['id']);
  return id === undefined ? 'null' : message.slice(id.start, id.end);
}

function isUnknownMethod(text: string): boolean {
  const code = locate(text, ['error', 'code']);
  return code !== undefined && text.slice(code.start, code.end) === String(METHOD_NOT_FOUND);
}

async function withOwnResources(
  resources: OwnResources,
  source: Seer,
  record: SessionRecord,
  text: string,
): Promise<string> {
  const result = locate(text, ['result']);
  if (result === undefined) return text;
  const own = await ownResources(resources, source, record);
  return splice(text, [{ ...result, with: withResources(text.slice(result.start, result.end), own) }]);
}

/** Definitions (JSON texts) of the adapter's own resources that the caller may read. */
async function ownResources(
  resources: OwnResources,
  { access }: Seer,
  record: SessionRecord,
): Promise<readonly string[]> {
  const all = await resources.list(record);
  return access === undefined ? all : all.filter((one) => access.shows(downloadOf(uriOf(one))));
}

const uriOf = (resource: string): string => (JSON.parse(resource) as { readonly uri: string }).uri;

function withResources(result: string, own: readonly string[]): string {
  const list = locate(result, ['resources']);
  if (list === undefined || result.charAt(list.start) !== '[') return result;
  return splice(result, insertElements(result, list, own));
}

/** Keeps the result for the next time. */
function keep(mount: ListedMount, record: SessionRecord, text: string, list: string, isChecked: boolean): void {
  const result = keptResultOf(text);
  const isValid = (): boolean => isChecked || isJson(text);
  const isKept =
    result === undefined
      ? isValid()
      : mount.lists.set(record, list, text.slice(result.start, result.end), Date.now(), isValid);
  if (!isKept) throw upstreamNotJson();
}
