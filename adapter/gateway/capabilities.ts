import { insertMember } from '../catalog/insert-member.ts';
import { locate, splice } from '../exchange/json-scan.ts';

/**
 * The answer to `initialize` (JSON text) with the capabilities that the adapter adds to those of the upstream, so that
 * clients ask for its tools and resources also where the upstream has none.
 */
export function withCapabilities(text: string, own: { readonly tools: boolean; readonly resources: boolean }): string {
  const result = locate(text, ['result']);
  if (result === undefined || text.charAt(result.start) !== '{') return text;
  const capabilities = locate(text, ['capabilities'], result.start);
  if (capabilities === undefined || text.charAt(capabilities.start) !== '{') return text;
  let out = text;
  // From the back, so that the place of what comes before stays.
  if (own.resources) out = withResources(out, capabilities.start);
  if (own.tools && locate(out, ['tools'], capabilities.start) === undefined) {
    out = splice(out, [insertMember(out, { start: capabilities.start, end: out.length }, 'tools', '{}')]);
  }
  return out;
}

/** Artifacts come and go, so the list of resources changes even where that of the upstream does not. */
function withResources(text: string, capabilities: number): string {
  const at = { start: capabilities, end: text.length };
  const resources = locate(text, ['resources'], capabilities);
  if (resources === undefined) return splice(text, [insertMember(text, at, 'resources', '{"listChanged":true}')]);
  if (text.charAt(resources.start) !== '{') return text;
  const changed = locate(text, ['listChanged'], resources.start);
  if (changed === undefined) return splice(text, [insertMember(text, resources, 'listChanged', 'true')]);
  return splice(text, [{ ...changed, with: 'true' }]);
}
