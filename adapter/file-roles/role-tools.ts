import type { EffectiveServer } from '../../crds/config/adapter-file/effective-server.ts';
import { toolEntries } from '../tools/settings.ts';
import type { ToolStep } from '../tools/visible/tool-step.ts';
import type { NotTaken } from './found-files.ts';
import type { RoleDeps } from './role-deps.ts';
import { withRoleGuidance } from './role-guidance.ts';
import { RoleStep } from './role-step.ts';
import { type ToolRoles, toolRoles } from './tool-roles.ts';

/** What is done to the tools of a server whose arguments are files by their roles. */
export interface RoleTools {
  readonly stepOf: (tool: string) => ToolStep | undefined;
  /** A definition (JSON text) as clients see it. */
  readonly guidanceOf: (tool: string) => ((definition: string) => string) | undefined;
  /** Whether tools of the server name files themselves. */
  readonly finds: boolean;
}

/** Undefined without entries of type `files`. A tool that an entry of another type names belongs to that alone. */
export function roleTools(
  server: Pick<EffectiveServer, 'adapters'>,
  deps: () => RoleDeps,
  onNotTaken: (tool: string, file: NotTaken) => void,
): RoleTools | undefined {
  const rolesOf = toolRoles(server.adapters);
  if (rolesOf === undefined) return undefined;
  const others = toolEntries(server);
  const steps = new WeakMap<ToolRoles, RoleStep>();
  const own = deps();
  const of = (tool: string): ToolRoles | undefined => (others.has(tool) ? undefined : rolesOf(tool));
  return {
    stepOf(tool) {
      const roles = of(tool);
      if (roles === undefined) return undefined;
      let step = steps.get(roles);
      if (step === undefined) steps.set(roles, (step = new RoleStep(own, roles, onNotTaken)));
      return step;
    },
    guidanceOf(tool) {
      const roles = of(tool);
      return roles === undefined
        ? undefined
        : (definition) => withRoleGuidance(definition, roles, own.artifacts.uri_scheme);
    },
    finds: server.adapters.some((entry) => entry.type === 'files' && entry.found.length > 0),
  };
}
