import type { AdapterError, ErrorCode } from '../errors.ts';
import type { Caller } from '../path/caller.ts';
import { messages } from '../path/messages.ts';
import type { Path, Paths, Sends } from '../path/paths.ts';
import { compose, composeWire, type Send, type Step, type WireStep } from '../path/step.ts';
import type { SessionFiles } from '../sessions/session-files.ts';
import type { SessionRegistry } from '../sessions/session-registry.ts';
import type { MessageBus } from '../state/message-bus.ts';
import type { StateStore } from '../state/state-store.ts';
import { Allowed, type StepUp } from '../steps/visible/allowed.ts';
import { Breaker } from '../steps/breaker.ts';
import { Cancellation } from '../steps/cancellation.ts';
import { Challenges } from '../steps/challenges.ts';
import { DisabledTools } from '../steps/visible/disabled-tools.ts';
import { Discovery } from '../steps/discovery.ts';
import { InSession } from '../steps/sessions/in-session.ts';
import { DetachedCalls } from '../steps/sessions/detached-calls.ts';
import { Limits } from '../steps/limits.ts';
import { Lists } from '../steps/lists.ts';
import { LostSession, type Renew } from '../steps/sessions/lost-session.ts';
import { LostStream } from '../steps/sessions/lost-stream.ts';
import { ParkedCalls } from '../steps/parked-calls.ts';
import { RecordedAnswers } from '../steps/recorded-answers.ts';
import { OpenedSession } from '../steps/sessions/opened-session.ts';
import { OpeningStream } from '../steps/sessions/opening-stream.ts';
import { OwnAnswers } from '../steps/own-answers.ts';
import { OwnTasks } from '../steps/own-tasks.ts';
import { Remembered } from '../steps/remembered.ts';
import { RequiredHeaders } from '../steps/required-headers.ts';
import { SpilledResults } from '../steps/spilled-results.ts';
import { StreamElsewhere } from '../steps/sessions/stream-elsewhere.ts';
import { TaskResults } from '../steps/task-results.ts';
import { TimeLimit } from '../steps/time-limit.ts';
import { ToolSteps } from '../steps/tool-steps.ts';
import { UpstreamRevision } from '../steps/upstream-revision.ts';
import { UpstreamSession } from '../steps/sessions/upstream-session.ts';
import { VisiblePrompts } from '../steps/visible/visible-prompts.ts';
import { VisibleTools } from '../steps/visible/visible-tools.ts';
import { VisibleUi } from '../steps/visible/visible-ui.ts';
import { Workspace } from '../steps/sessions/workspace.ts';
import { Workspaces } from '../sessions/workspaces.ts';
import { askUpstream } from '../mount/ask-upstream.ts';
import type { ClientUpstream } from '../mount/client-upstream.ts';
import type { Mount } from '../mount/mount.ts';
import { refusedHead } from '../mount/refused-head.ts';
import type { StreamOrder } from '../sessions/stream-order.ts';
import { timeOver } from '../mount/time-over.ts';
import type { ToolParameters } from '../tools/tool-parameters.ts';

/** What the steps of all mounts are made of. */
export interface PathDeps {
  readonly store: StateStore;
  readonly bus: MessageBus;
  readonly sessions: SessionRegistry;
  readonly sessionFiles: Pick<SessionFiles, 'purge'>;
  readonly streamOrder: StreamOrder;
  readonly toolParameters: ToolParameters;
  /** Whether anybody wants to know what answers say. */
  readonly notes: boolean;
  /** `upstream_session_termination_retries` */
  readonly terminationRetries: number;
  readonly baseUrl: (request: Caller['request']) => string;
  /** A challenge that asks for one more scope. */
  readonly stepUp: (serverId: string, ...asked: Parameters<StepUp>) => string | undefined;
  /** Why no session can be opened here now; undefined when one can. */
  readonly refusesSessions: () => ErrorCode | undefined;
  /** Whether event streams are better opened at other replicas now. */
  readonly leavesStreams: () => boolean;
  /** Any failure as the error to answer with; what is unexpected is logged there. */
  readonly known: (error: unknown) => AdapterError;
}

/** The steps of one mount. What is left out for it is an empty list. */
function stepsOf(mount: Mount, client: ClientUpstream, deps: PathDeps) {
  const { store, bus, sessions, sessionFiles, streamOrder, toolParameters, refusesSessions, known } = deps;
  const { serverId, bridge, callLimits, revisions, spilling, steps, visibleCatalog } = mount;
  const resource = mount.protectedResource;
  const renew: Renew = (operation, lost) => client.renew(operation, lost);
  const runsOthers = (tool: string): boolean => steps.get(tool)?.runsOthers === true;
  const allowed = new Allowed(mount, (...asked) => deps.stepUp(serverId, ...asked));
  const mayCall = mount.hasAccessRules ? allowed.allows.bind(allowed) : undefined;
  const disabled = new DisabledTools(mount);
  const toolSteps = new ToolSteps(mount, client, toolParameters);
  const timeLimit = new TimeLimit((operation) => timeOver(operation, mount, client));
  const workspaces = new Workspaces({ sessions, sessionFiles, store, refusesSessions });
  const named = [...steps.values()];
  // Those that patterns of names find are counted and not listed: of tools with files, which finish their tasks.
  const givesPaths = steps.size > named.length;
  const finishes = givesPaths || named.some((step) => 'finish' in step);
  const declined = compose([disabled, timeLimit], messagesOf(mount, []));
  return {
    around: [
      ...(deps.notes ? [new RecordedAnswers()] : []),
      ...(resource === undefined ? [] : [new Challenges({ mount, resource, client, baseUrl: deps.baseUrl })]),
      ...(mount.requiredHeaders.length === 0 ? [] : [new RequiredHeaders(mount.requiredHeaders)]),
    ],
    limits: callLimits === undefined ? [] : [new Limits(callLimits, runsOthers, mayCall)],
    limitsAlone: callLimits === undefined ? [] : [new Limits(callLimits, runsOthers, mayCall, sessions)],
    opened: new OpenedSession({ mount, client, sessions, store, refusesSessions }),
    inSession: new InSession(sessions, runsOthers),
    breaker: new Breaker(serverId, mount.breaker, runsOthers),
    access: mount.hasAccessRules ? [allowed] : [],
    revision: new UpstreamRevision(
      revisions,
      client,
      toolParameters,
      () => store.now(),
      declined,
      bridge !== undefined,
    ),
    disabled,
    own: new OwnAnswers(mount, sessions),
    elsewhere: new StreamElsewhere(deps.leavesStreams),
    upstreamSession: new UpstreamSession(streamOrder, renew),
    openingStream: new OpeningStream(streamOrder),
    visible: [
      new VisibleTools(visibleCatalog, client, (call, caller) => {
        allowed.check(caller, call);
        disabled.check(call);
        toolSteps.of(call, true);
      }),
      ...(mount.texts.any ? [new VisiblePrompts(mount, client)] : []),
      ...(visibleCatalog.hidesTools || mount.hasAccessRules ? [new VisibleUi(visibleCatalog, client)] : []),
    ],
    lists: new Lists(mount, client, store, known),
    discovery: new Discovery(mount, client),
    parked: bridge === undefined ? [] : [new ParkedCalls({ serverId, bridge, bus, store, known })],
    remembered: new Remembered(store),
    spilled: spilling === undefined ? [] : [new SpilledResults(spilling, client, workspaces, store)],
    workspace: new Workspace(steps, workspaces),
    taskResults: finishes ? [new TaskResults(steps, store)] : [],
    toolSteps,
    ownTasks: new OwnTasks(store),
    cancellation: new Cancellation(bus, (error) => void known(error)),
    detached: new DetachedCalls(steps, store, givesPaths),
    timeLimit,
    lostSession: new LostSession(renew, deps.terminationRetries),
    lostStream: new LostStream({ client, upstream: mount.upstream, bus }),
  };
}

/**
 * The way of a message. All kinds share one order: who is calling, limits and leases, the breaker, what is visible, own
 * answers, cached lists, files in, the time limit; and back: a lost session, files out, lists, telemetry around all.
 */
export function paths(mount: Mount, client: ClientUpstream, deps: PathDeps): Paths {
  const one = stepsOf(mount, client, deps);
  return {
    opening: {
      steps: [...one.around, ...one.access, one.opened, one.breaker, one.timeLimit],
      wire: [],
    },
    session: {
      steps: [
        ...one.around,
        ...one.limits,
        one.inSession,
        one.breaker,
        ...one.access,
        one.disabled,
        one.own,
        one.upstreamSession,
        ...one.visible,
        one.lists,
        one.remembered,
        ...one.spilled,
        ...one.taskResults,
        one.toolSteps,
        // A task is known before anything else is made of the answer that brings it.
        one.ownTasks,
        one.cancellation,
        one.timeLimit,
      ],
      wire: [one.lostSession],
    },
    sessionless: {
      steps: [
        ...one.around,
        ...one.limitsAlone,
        one.breaker,
        ...one.access,
        one.revision,
        one.disabled,
        one.own,
        ...one.visible,
        one.lists,
        one.discovery,
        ...one.parked,
        ...one.spilled,
        one.workspace,
        ...one.taskResults,
        one.toolSteps,
        one.ownTasks,
        one.timeLimit,
      ],
      wire: [],
    },
    stream: {
      steps: [
        ...one.around,
        one.inSession,
        one.breaker,
        one.elsewhere,
        one.upstreamSession,
        one.openingStream,
        one.lists,
        ...one.spilled,
        one.detached,
      ],
      wire: [one.lostStream],
    },
  };
}

/** The paths, each as one; a single tool call passes by what concerns other messages only, and these by what concerns calls. */
export function sends(mount: Mount, { opening, session, sessionless, stream }: Paths): Sends {
  const on = ({ steps, wire }: Path, concerned: (step: Step) => boolean = () => true): Send =>
    compose(steps.filter(concerned), messagesOf(mount, wire));
  const isForCalls = ({ concerns }: Step): boolean => concerns !== 'others';
  const isForOthers = ({ concerns }: Step): boolean => concerns !== 'calls';
  return {
    opening: on(opening),
    session: on(session),
    sessionCall: on(session, isForCalls),
    sessionless: on(sessionless, isForOthers),
    sessionlessCall: on(sessionless, isForCalls),
    stream: on(stream),
  };
}

function messagesOf(mount: Mount, wire: readonly WireStep[]): Send {
  const refused = (head: Parameters<typeof refusedHead>[1]): AdapterError | undefined => refusedHead(mount, head);
  return messages({ dropped: mount.dropped, refused }, composeWire(wire, askUpstream(mount)));
}
