import { describe, expect, test } from 'vitest';

import type { Path, Paths } from '../path/paths.ts';
import { sends } from './paths.ts';
import { sampleMount } from './testing/sample-mount.ts';
import { everythingOn, samplePaths } from './testing/sample-paths.ts';

const namesOf = ({ steps, wire }: Path): string[] => [...steps, ...wire].map((one) => one.constructor.name);
function named(of: Paths): Record<keyof Paths, string[]> {
  const { opening, session, sessionless, stream } = of;
  return {
    opening: namesOf(opening),
    session: namesOf(session),
    sessionless: namesOf(sessionless),
    stream: namesOf(stream),
  };
}

const mount = everythingOn();
using made = samplePaths(mount);
const { paths } = made;
const names = named(paths);

const AROUND = ['RecordedAnswers', 'Challenges', 'RequiredHeaders'];

describe('the way of a message', () => {
  test('has this order', () => {
    expect(names).toEqual({
      opening: [...AROUND, 'Allowed', 'OpenedSession', 'Breaker', 'TimeLimit'],
      session: [
        ...AROUND,
        'Limits',
        'InSession',
        'Breaker',
        'Allowed',
        'DisabledTools',
        'OwnAnswers',
        'UpstreamSession',
        'VisibleTools',
        'VisiblePrompts',
        'VisibleUi',
        'Lists',
        'Remembered',
        'ToolSteps',
        'OwnTasks',
        'Cancellation',
        'TimeLimit',
        'LostSession',
      ],
      sessionless: [
        ...AROUND,
        'Limits',
        'Breaker',
        'Allowed',
        'UpstreamRevision',
        'DisabledTools',
        'OwnAnswers',
        'VisibleTools',
        'VisiblePrompts',
        'VisibleUi',
        'Lists',
        'Discovery',
        'Workspace',
        'ToolSteps',
        'OwnTasks',
        'TimeLimit',
      ],
      stream: [
        ...AROUND,
        'InSession',
        'Breaker',
        'StreamElsewhere',
        'UpstreamSession',
        'OpeningStream',
        'Lists',
        'DetachedCalls',
        'LostStream',
      ],
    });
  });

  test('has the same order with sessions and without, as far as the steps are the same', () => {
    const both = (one: string[], other: string[]): string[] => one.filter((name) => other.includes(name));
    expect(both(names.session, names.sessionless)).toEqual(both(names.sessionless, names.session));
    expect(both(names.session, names.stream)).toEqual(both(names.stream, names.session));
  });

  test('begins with who it is from; nothing is looked up for nobody, or asked of an upstream that is down', () => {
    for (const [path, identifies, before] of [
      ['opening', 'OpenedSession', [...AROUND, 'Allowed']],
      ['session', 'InSession', [...AROUND, 'Limits']],
      ['stream', 'InSession', AROUND],
    ] as const) {
      // These look at nothing but the request itself, and its answer.
      expect(names[path].slice(0, names[path].indexOf(identifies))).toEqual(before);
      expect(names[path].indexOf('Breaker')).toBe(names[path].indexOf(identifies) + 1);
    }
    // A client without sessions is known by its request; what the upstream speaks has to be asked.
    const first = [...AROUND, 'Limits', 'Breaker', 'Allowed', 'UpstreamRevision'];
    expect(names.sessionless.slice(0, first.length)).toEqual(first);
  });

  test('ends with the time limit: whatever is done before it takes nothing from the upstream’s time', () => {
    for (const path of ['opening', 'session', 'sessionless'] as const) {
      expect(paths[path].steps.at(-1)?.constructor.name).toBe('TimeLimit');
    }
    // A stream has none.
    expect(names.stream).not.toContain('TimeLimit');
  });

  test('names no step twice', () => {
    for (const all of Object.values(names)) expect(new Set(all).size).toBe(all.length);
  });

  test('leaves out what there is nothing to do for', () => {
    const off = sampleMount({ tool_metadata_sanitization: { mode: 'off' }, tool_definition_pinning: { mode: 'off' } });
    using plain = samplePaths(off, { notes: false });
    const { session, sessionless } = named(plain.paths);
    for (const name of [...AROUND, 'Limits', 'VisiblePrompts', 'VisibleUi']) {
      expect([session.includes(name), sessionless.includes(name)]).toEqual([false, false]);
    }
  });

  test('is shorter for a single tool call, and for what is none', () => {
    const concerned = (path: Path, what: 'calls' | 'others'): string[] =>
      path.steps.flatMap(({ concerns, constructor: { name } }) => (concerns === what ? [name] : []));
    expect(concerned(paths.session, 'calls')).toEqual(['Limits', 'DisabledTools', 'ToolSteps']);
    expect(concerned(paths.sessionless, 'calls')).toEqual(['Limits', 'DisabledTools', 'Workspace', 'ToolSteps']);
    const others = ['OwnAnswers', 'VisiblePrompts', 'VisibleUi'];
    expect(concerned(paths.session, 'others')).toEqual([...others, 'Remembered', 'Cancellation']);
    expect(concerned(paths.sessionless, 'others')).toEqual([...others, 'Discovery']);
    expect(Object.keys(sends(mount, paths)).toSorted()).toEqual(
      ['opening', 'session', 'sessionCall', 'sessionless', 'sessionlessCall', 'stream'].toSorted(),
    );
  });
});
