/** One call of a browser tool, and what its outcome must at least show. */
interface Step {
  readonly what: string;
  readonly tool: string;
  readonly args?: Record<string, unknown>;
  readonly shows: string;
}

const BIG = 300_000;

/** What a user does with the test page when it is open, in this order. */
export const STEPS: readonly Step[] = [
  { what: 'the page is shown as a tree', tool: 'browser_snapshot', shows: 'textbox \\"Name\\" [ref=' },
  {
    what: 'a text is typed in',
    tool: 'browser_type',
    args: { element: 'Name', target: 'input', text: 'Grüße, 世界 🌍' },
    shows: 'Grüße, 世界 🌍',
  },
  {
    what: 'an option is chosen',
    tool: 'browser_select_option',
    args: { element: 'Greeting', target: 'select', values: ['Guten Tag'] },
    shows: 'Guten Tag',
  },
  {
    what: 'a button is clicked',
    tool: 'browser_click',
    args: { element: 'Greet', target: 'button' },
    shows: 'console-',
  },
  {
    what: 'a function runs in the page',
    tool: 'browser_evaluate',
    args: { function: "() => document.querySelector('p').textContent" },
    shows: 'Guten Tag, Grüße, 世界 🌍!',
  },
  {
    what: 'a function gives a large result',
    tool: 'browser_evaluate',
    args: { function: `() => 'x'.repeat(${BIG})` },
    shows: 'x'.repeat(BIG),
  },
  {
    what: 'a function throws',
    tool: 'browser_evaluate',
    args: { function: "() => { throw new Error('on purpose') }" },
    shows: '"isError":true',
  },
  { what: 'an element is not there', tool: 'browser_click', args: { target: '#none' }, shows: '"isError":true' },
  { what: 'the console is read', tool: 'browser_console_messages', args: { level: 'info' }, shows: '[LOG] greeted' },
  { what: 'the tabs are listed', tool: 'browser_tabs', args: { action: 'list' }, shows: '(current) [Greeter]' },
  { what: 'a picture is taken', tool: 'browser_take_screenshot', args: { type: 'png' }, shows: '"data":"iVBORw0KGgo' },
];
