import { Interface } from 'node:readline';

/**
 * Loaded before an example's client (`node --import`). The server's address stands in most of them: what they ask goes to
 * ENDPOINT. What they ask of a person is answered with ANSWERS (a JSON list of strings), one after the other.
 */
const { ENDPOINT = '', ANSWERS = '[]' } = process.env;
const answers = JSON.parse(ANSWERS) as string[];
const original = globalThis.fetch;

globalThis.fetch = (input, init) => {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  return original(pathname === '/mcp' ? ENDPOINT : input, init);
};

Interface.prototype.question = ((prompt: string, answered: (answer: string) => void) => {
  const answer = answers.shift();
  if (answer === undefined) throw new Error(`asked once more: ${prompt}`);
  process.stdout.write(`${prompt}${answer}\n`);
  answered(answer);
}) as Interface['question'];

// Some turn on what only a terminal has.
Object.assign(process.stdin, { setRawMode: () => process.stdin });
