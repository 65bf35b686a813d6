import { locate, type Span, splice } from '../exchange/scanning/json-scan.ts';
import { insertMember } from '../catalog/insert-member.ts';
import { schemaPath } from '../catalog/schema-path.ts';
import type { RoleArgument, ToolRoles } from './tool-roles.ts';

/** What a model must know to name a file. */
export const handleGuidance = (artifactScheme: string): string =>
  `Pass the handle of a file: the \`${artifactScheme}…\` URI from a result, or the handle of an upload.`;

/** What is said of an argument by its role, after what the server says of it. */
function guidanceOf({ role, create }: RoleArgument, artifactScheme: string): string {
  if (role === 'in') return handleGuidance(artifactScheme);
  if (role === 'out')
    return 'A file name without a folder. The file comes back as an artifact, whose handle other tools take.';
  if (role === 'out_dir') return 'Any name. The files come back as artifacts, whose handles other tools take.';
  const made = create ? ' Pass a file name to make a new file.' : '';
  return `${handleGuidance(artifactScheme)} The tool changes this file; the handle then stands for the new version.${made}`;
}

/** The definition (JSON text) of a tool whose arguments are files: each says in its description what it takes. */
export function withRoleGuidance(tool: string, roles: ToolRoles, artifactScheme: string): string {
  return roles.arguments.reduce(
    (text, argument) => described(text, argument, guidanceOf(argument, artifactScheme)),
    tool,
  );
}

function described(tool: string, { keys }: RoleArgument, guidance: string): string {
  const schema = locate(tool, ['inputSchema']);
  if (schema === undefined) return tool;
  const properties = schemaPath(tool.slice(schema.start, schema.end), keys, false);
  const property = properties.length === keys.length ? properties.at(-1)?.span : undefined;
  if (property === undefined) return tool;
  const at: Span = { start: property.start + schema.start, end: property.end + schema.start };
  if (tool.charAt(at.start) !== '{') return tool;
  const own = locate(tool, ['description'], at.start);
  const said =
    own !== undefined && tool.charAt(own.start) === '"' ? (JSON.parse(tool.slice(own.start, own.end)) as string) : '';
  const value = JSON.stringify(said === '' ? guidance : `${said}\n\n${guidance}`);
  return splice(tool, [own === undefined ? insertMember(tool, at, 'description', value) : { ...own, with: value }]);
}
