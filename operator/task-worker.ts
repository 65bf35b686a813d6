/** The program of the thread that works on large resources. It is ended from outside. */
import { parentPort } from 'node:worker_threads';
import { BUILD, CHECK } from './mcp-adapter/tasks.ts';
import { Budget } from './tasks/budget.ts';
import { RefusedError, problemOf } from './tasks/refused-error.ts';
import type { Task } from './tasks/task.ts';
import { PREPARE } from './scrape-group/group/prepare.ts';
import type { TaskReply, TaskRequest } from './tasks/worker-task-runner.ts';

/** Of computing time: what one resource may take here. */
const TASK_MS = 2000;
/** The event loop reads the reply in one go. */
const MAX_OUTPUT = 4 * 1024 * 1024;

const port = parentPort;
if (port === null) throw new Error('task-worker must be started as a worker thread');

const tasks = new Map([CHECK, BUILD, PREPARE].map((task) => [task.name, task as Task<unknown, unknown>]));

function replyTo({ task: name, input, path }: TaskRequest): TaskReply {
  try {
    const task = tasks.get(name);
    if (task === undefined) throw new Error(`there is no task ${name}`);
    const budget = new Budget(TASK_MS);
    const output = budget.during(() => JSON.stringify(task.run(JSON.parse(input), budget)));
    if (output.length > MAX_OUTPUT) {
      throw new RefusedError(
        path,
        `makes objects of more than ${MAX_OUTPUT / 1024 / 1024} MiB; split it into several resources`,
      );
    }
    return { output };
  } catch (error) {
    return { problem: problemOf(error, path) };
  }
}

port.on('message', (request: TaskRequest) => port.postMessage(replyTo(request)));
port.postMessage('ready');
