import { insertMember } from '../catalog/insert-member.ts';
import { locate, splice } from '../exchange/scanning/json-scan.ts';

export interface OwnCapabilities {
  readonly tools: boolean;
  /** `changing`: the client can be told that the list has changed. */
  readonly resources: boolean | 'changing';
}

/**
 * The answer to `initialize` or `server/discover` (JSON text) with the capabilities that the adapter adds to those of the upstream, so that
 * clients ask for its tools and resources also where the upstream has none.
 */
export function withCapabilities(text: string, own: OwnCapabilities): string {
  const result = locate(text, ['result']);
  if (result === undefined || text.charAt(result.start) !== '{') return text;
  const capabilities = locate(text, ['capabilities'], result.start);
  if (capabilities === undefined || text.charAt(capabilities.start) !== '{') return text;
  let out = text;
  // From the back, so that the place of what comes before stays.
  if (own.resources !== false) out = withResources(out, capabilities.start, own.resources === 'changing');
  if (own.tools && locate(out, ['tools'], capabilities.start) === undefined) {
    out = splice(out, [insertMember(out, { start: capabilities.start, end: out.length }, 'tools', '{}')]);
  }
  return out;
}

/** Artifacts come and go, so the list of resources changes even where that of the upstream does not. */
function withResources(text: string, capabilities: number, isChanging: boolean): string {
  const at = { start: capabilities, end: text.length };
  const resources = locate(text, ['resources'], capabilities);
  if (resources === undefined) {
    return splice(text, [insertMember(text, at, 'resources', isChanging ? '{"listChanged":true}' : '{}')]);
  }
  if (text.charAt(resources.start) !== '{' || !isChanging) return text;
  const changed = locate(text, ['listChanged'], resources.start);
  if (changed === undefined) return splice(text, [insertMember(text, resources, 'listChanged', 'true')]);
  return splice(text, [{ ...changed, with: 'true' }]);
}
