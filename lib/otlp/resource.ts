import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { Environment } from '../references/reference.ts';

/**
 * The resource of everything that is emitted. Sums begin anew with each process, so each has an id of its own; without,
 * those of two pods could not be told apart. `OTEL_RESOURCE_ATTRIBUTES` adds to it.
 *
 * @param more further attributes, which the variable does not change; those that are undefined are left out
 */
export function createResource(
  serviceName: string,
  instanceId: string,
  env: Environment,
  more: Readonly<Record<string, string | undefined>> = {},
): Resource {
  const known = Object.entries(more).filter(([, value]) => value !== undefined);
  return resourceFromAttributes({
    'service.instance.id': instanceId,
    ...fromEnvironment(env['OTEL_RESOURCE_ATTRIBUTES'] ?? ''),
    'service.name': serviceName,
    ...Object.fromEntries(known),
  });
}

function fromEnvironment(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [name = '', ...rest] = pair.split('=');
    return name.trim() === '' || rest.length === 0 ? [] : [[name.trim(), decoded(rest.join('=').trim())] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
