import { RESTARTED_AT } from '../../pods/annotations.ts';
import { namesOf, readClusterArgs, type Run, whereOf } from './command.ts';
import { targetOf } from './target.ts';

/** A command that changes one thing of a resource. */
function patching(patch: () => object, done: string): Run {
  return async (args, { connect, streams }) => {
    const { values, positionals } = readClusterArgs(args, {});
    const [given = ''] = namesOf(positionals, ['McpAdapter or source/NAME']);
    const { resource, name } = targetOf(given);
    await using cluster = await connect(whereOf(values));
    await cluster.api.merge(patch(), resource, { name, namespace: cluster.namespace });
    streams.out(`${resource.kind} ${name} ${done}`);
    return 0;
  };
}

export const pause = patching(() => ({ spec: { paused: true } }), 'is paused: the operator changes nothing of it');
export const resume = patching(() => ({ spec: { paused: null } }), 'goes on');
export const restart = patching(
  () => ({ metadata: { annotations: { [RESTARTED_AT]: new Date().toISOString() } } }),
  'restarts, pod by pod',
);
