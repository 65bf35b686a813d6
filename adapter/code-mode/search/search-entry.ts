import type { ListedTool } from '../text/listed-tool.ts';
import { type Json, own, ownList, ownText, SchemaView, variantsOf } from '../text/schema-view.ts';

const MAX_PARAMETERS = 200;
const MAX_VARIANTS = 6;
const MAX_STEPS = 1_000;

/** The words that a tool is found by. `details` is what is said about its parameters, and their values. */
export interface SearchEntry {
  readonly name: string;
  readonly title: string;
  readonly tags: string;
  readonly parameters: string;
  readonly description: string;
  readonly details: string;
}

export function searchEntry(tool: ListedTool): SearchEntry {
  const { title = '', description, definition } = tool.details();
  const parameters = parametersOf(definition);
  return {
    name: tool.name,
    title,
    tags: tool.tags.join(' '),
    parameters: parameters.map((parameter) => parameter.name).join(' '),
    description,
    details: parameters.map(({ details }) => details).join(' '),
  };
}

/** The parameters, and what the objects among them hold, with what is said about them. */
function parametersOf(definition: Json): readonly { readonly name: string; readonly details: string }[] {
  const view = new SchemaView(own(definition, 'inputSchema'), MAX_STEPS);
  const { root } = view;
  const whole = [root, ...variantsOf(root).slice(0, MAX_VARIANTS)];
  const outer = whole.flatMap((schema) => view.propertiesOf(schema)).slice(0, MAX_PARAMETERS);
  const inner = outer.flatMap(({ schema }) => {
    const value = view.resolve(schema);
    const places = [value, own(value, 'items'), ...variantsOf(value).slice(0, MAX_VARIANTS)];
    return places.flatMap((place) => view.propertiesOf(place));
  });
  return [...outer, ...inner].slice(0, MAX_PARAMETERS).map(({ name, schema }) => {
    const value = view.resolve(schema);
    const words = ownList(value, 'enum').filter((word) => typeof word === 'string');
    return { name, details: [ownText(value, 'description') ?? '', ...words.slice(0, MAX_PARAMETERS)].join(' ') };
  });
}
