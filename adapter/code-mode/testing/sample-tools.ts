/**
 * Forty definitions as real servers write them: a browser, files, tickets, mail, calendars, a database. The styles of
 * names and schemas differ from group to group, as they do between servers.
 */

type Properties = Record<string, object>;
interface More {
  readonly required?: readonly string[];
  readonly title?: string;
  readonly tags?: readonly string[];
  readonly outputSchema?: object;
  readonly annotations?: object;
}

function tool(name: string, description: string, properties: Properties = {}, more: More = {}): string {
  const { required, title, tags, outputSchema, annotations } = more;
  return JSON.stringify({
    name,
    ...(title !== undefined && { title }),
    description,
    inputSchema: { type: 'object', properties, ...(required && { required }), additionalProperties: false },
    ...(outputSchema && { outputSchema }),
    ...(annotations && { annotations }),
    ...(tags && { _meta: { fastmcp: { tags } } }),
  });
}

const text = (description: string, more: object = {}) => ({ type: 'string', description, ...more });
const whole = (description: string, more: object = {}) => ({ type: 'integer', description, ...more });
const flag = (description: string, more: object = {}) => ({ type: 'boolean', description, ...more });
const listOf = (items: object, description: string) => ({ type: 'array', items, description });

const element = {
  element: text('Human-readable element description used to obtain permission to interact with the element'),
  ref: text('Exact target element reference from the page snapshot'),
};

const browser = [
  tool(
    'browser_navigate',
    'Navigate to a URL',
    { url: text('The URL to navigate to') },
    { required: ['url'], title: 'Navigate to a URL' },
  ),
  tool('browser_navigate_back', 'Go back to the previous page in the history', {}, { title: 'Go back' }),
  tool(
    'browser_click',
    'Perform click on a web page',
    {
      ...element,
      doubleClick: flag('Whether to perform a double click instead of a single click'),
      button: { type: 'string', enum: ['left', 'right', 'middle'], description: 'Button to click, defaults to left' },
    },
    { required: ['element', 'ref'], title: 'Click' },
  ),
  tool(
    'browser_type',
    'Type text into editable element',
    { ...element, text: text('Text to type into the element'), submit: flag('Whether to press Enter after') },
    { required: ['element', 'ref', 'text'], title: 'Type text' },
  ),
  tool(
    'browser_fill_form',
    'Fill multiple form fields',
    {
      fields: listOf(
        {
          type: 'object',
          properties: {
            name: text('Human-readable field name'),
            type: { type: 'string', enum: ['textbox', 'checkbox', 'radio', 'combobox', 'slider'] },
            value: text('Value to fill in the field'),
          },
          required: ['name', 'type', 'value'],
        },
        'Fields to fill in',
      ),
    },
    { required: ['fields'], title: 'Fill form' },
  ),
  tool(
    'browser_take_screenshot',
    "Take a screenshot of the current page. You can't perform actions based on the screenshot, use browser_snapshot for actions.",
    {
      type: { type: 'string', enum: ['png', 'jpeg'], default: 'png', description: 'Image format for the screenshot' },
      filename: text('File name to save the screenshot to'),
      fullPage: flag('When true, takes a screenshot of the full scrollable page'),
    },
    { title: 'Take a screenshot', annotations: { readOnlyHint: true } },
  ),
  tool(
    'browser_snapshot',
    'Capture accessibility snapshot of the current page, this is better than screenshot',
    {},
    { title: 'Page snapshot', annotations: { readOnlyHint: true } },
  ),
  tool(
    'browser_tabs',
    'List, create, close, or select a browser tab.',
    { action: { type: 'string', enum: ['list', 'new', 'close', 'select'] }, index: whole('Tab index') },
    { required: ['action'], title: 'Manage tabs' },
  ),
  tool('browser_close', 'Close the page', {}, { title: 'Close browser' }),
  tool(
    'browser_evaluate',
    'Evaluate JavaScript expression on page or element',
    { function: text('() => { /* code */ }'), ...element },
    { required: ['function'], title: 'Evaluate JavaScript' },
  ),
];

const files = [
  tool(
    'read_text_file',
    'Read the complete contents of a file from the file system as text. Handles various text encodings.',
    { path: { type: 'string' }, head: whole('Only the first lines'), tail: whole('Only the last lines') },
    { required: ['path'], tags: ['filesystem'] },
  ),
  tool(
    'read_multiple_files',
    'Read the contents of multiple files simultaneously. More efficient than reading files one by one.',
    { paths: listOf({ type: 'string' }, 'Array of file paths to read') },
    { required: ['paths'], tags: ['filesystem'] },
  ),
  tool(
    'write_file',
    'Create a new file or completely overwrite an existing file with new content. Use with caution.',
    { path: { type: 'string' }, content: { type: 'string' } },
    { required: ['path', 'content'], tags: ['filesystem'], annotations: { destructiveHint: true } },
  ),
  tool(
    'edit_file',
    'Make line-based edits to a text file. Each edit replaces exact line sequences with new content. Returns a diff.',
    {
      path: { type: 'string' },
      edits: listOf(
        {
          type: 'object',
          properties: { oldText: text('Text to search for'), newText: text('Text to replace it with') },
        },
        'Edits',
      ),
      dryRun: flag('Preview changes using git-style diff format', { default: false }),
    },
    { required: ['path', 'edits'], tags: ['filesystem'] },
  ),
  tool(
    'list_directory',
    'Get a detailed listing of all files and directories in a specified path.',
    { path: { type: 'string' } },
    { required: ['path'], tags: ['filesystem'] },
  ),
  tool(
    'move_file',
    'Move or rename files and directories. If the destination exists, the operation will fail.',
    { source: { type: 'string' }, destination: { type: 'string' } },
    { required: ['source', 'destination'], tags: ['filesystem'] },
  ),
  tool(
    'delete_file',
    'Delete a file from the file system for good.',
    { path: { type: 'string' } },
    { required: ['path'], tags: ['filesystem'], annotations: { destructiveHint: true } },
  ),
];

const repository = { owner: text('Repository owner'), repo: text('Repository name') };
const issueNumber = { issue_number: whole('Number of the issue') };
const tickets = [
  tool(
    'create_issue',
    'Create a new issue in a GitHub repository.',
    {
      ...repository,
      title: text('Issue title'),
      body: text('Issue body content'),
      assignees: listOf({ type: 'string' }, 'Usernames to assign to this issue'),
      labels: listOf({ type: 'string' }, 'Labels to apply to this issue'),
    },
    { required: ['owner', 'repo', 'title'], tags: ['tickets', 'write'] },
  ),
  tool(
    'get_issue',
    'Get details of a specific issue in a GitHub repository.',
    { ...repository, ...issueNumber },
    {
      required: ['owner', 'repo', 'issue_number'],
      tags: ['tickets'],
      outputSchema: {
        type: 'object',
        properties: {
          number: { type: 'integer' },
          title: { type: 'string' },
          state: { type: 'string', enum: ['open', 'closed'] },
          author: { $ref: '#/$defs/User' },
        },
        required: ['number', 'title', 'state'],
        $defs: {
          User: { type: 'object', properties: { login: { type: 'string' }, url: { type: 'string', format: 'uri' } } },
        },
      },
    },
  ),
  tool(
    'list_issues',
    'List issues in a GitHub repository with filters.',
    {
      ...repository,
      state: { type: 'string', enum: ['open', 'closed', 'all'], default: 'open', description: 'Filter by state' },
      since: text('Only issues updated after this time', { format: 'date-time' }),
      perPage: whole('Results per page', { minimum: 1, maximum: 100, default: 30 }),
    },
    { required: ['owner', 'repo'], tags: ['tickets'] },
  ),
  tool(
    'update_issue',
    'Update an existing issue in a GitHub repository: title, body, state, labels, assignees.',
    { ...repository, ...issueNumber, state: { type: 'string', enum: ['open', 'closed'] } },
    { required: ['owner', 'repo', 'issue_number'], tags: ['tickets', 'write'] },
  ),
  tool(
    'add_issue_comment',
    'Add a comment to a specific issue in a GitHub repository.',
    { ...repository, ...issueNumber, body: text('Comment content') },
    { required: ['owner', 'repo', 'issue_number', 'body'], tags: ['tickets', 'write'] },
  ),
  tool(
    'search_code',
    'Search for code across GitHub repositories using the query syntax of GitHub code search.',
    { q: text('Search query'), sort: text('Sort field') },
    { required: ['q'], tags: ['tickets'] },
  ),
  tool(
    'merge_pull_request',
    'Merge a pull request in a GitHub repository.',
    {
      ...repository,
      pullNumber: whole('Number of the pull request'),
      merge_method: { enum: ['merge', 'squash', 'rebase'] },
    },
    { required: ['owner', 'repo', 'pullNumber'], tags: ['tickets', 'write'] },
  ),
];

const recipients = listOf({ type: 'string', format: 'email' }, 'Addresses of the recipients');
const mail = [
  tool(
    'gmail-send',
    'Sends a new email message.',
    {
      to: recipients,
      cc: recipients,
      subject: text('Subject line'),
      body: text('Text of the message'),
      attachments: listOf({ type: 'string' }, 'Handles of files to attach'),
    },
    { required: ['to', 'subject', 'body'], tags: ['mail', 'write'] },
  ),
  tool(
    'gmail-reply',
    'Replies to a message, in its thread.',
    { messageId: text('Message to answer'), body: text('Text of the reply'), replyAll: flag('To everybody') },
    { required: ['messageId', 'body'], tags: ['mail', 'write'] },
  ),
  tool(
    'gmail-search',
    'Searches messages with the query syntax of Gmail, such as from:ann is:unread.',
    { query: text('Search query'), maxResults: whole('Most messages', { default: 20 }) },
    { required: ['query'], tags: ['mail'] },
  ),
  tool(
    'gmail-get-message',
    'Reads one message with headers and body.',
    { messageId: text('Message') },
    { required: ['messageId'], tags: ['mail'] },
  ),
  tool(
    'gmail-download-attachment',
    'Downloads an attachment of a message.',
    { messageId: text('Message'), attachmentId: text('Attachment'), path: text('Where to save it') },
    { required: ['messageId', 'attachmentId'], tags: ['mail'] },
  ),
  tool(
    'gmail-archive',
    'Moves messages out of the inbox.',
    { messageIds: listOf({ type: 'string' }, 'Messages') },
    { tags: ['mail', 'write'] },
  ),
];

const calendars = [
  tool(
    'calendarCreateEvent',
    'Creates an event in a calendar and invites attendees.',
    {
      calendarId: text('Calendar', { default: 'primary' }),
      summary: text('Title of the event'),
      start: text('Begin', { format: 'date-time' }),
      end: text('End', { format: 'date-time' }),
      attendees: listOf({ type: 'string', format: 'email' }, 'Who is invited'),
    },
    { required: ['summary', 'start', 'end'], tags: ['calendar', 'write'] },
  ),
  tool(
    'calendarListEvents',
    'Lists the events of a calendar between two times.',
    { calendarId: text('Calendar', { default: 'primary' }), timeMin: text('From'), timeMax: text('Until') },
    { tags: ['calendar'] },
  ),
  tool(
    'calendarFindFreeSlots',
    'Finds times at which all of the given people are free.',
    { people: listOf({ type: 'string' }, 'Addresses'), minutes: whole('Length of the meeting in minutes') },
    { required: ['people', 'minutes'], tags: ['calendar'] },
  ),
  tool(
    'calendarDeleteEvent',
    'Deletes an event and tells its attendees.',
    { eventId: text('Event') },
    { required: ['eventId'], tags: ['calendar', 'write'] },
  ),
  tool(
    'calendarUpdateEvent',
    'Changes time, title or attendees of an event.',
    { eventId: text('Event'), start: text('Begin'), end: text('End'), summary: text('Title of the event') },
    { required: ['eventId'], tags: ['calendar', 'write'] },
  ),
];

const database = [
  tool(
    'db.query',
    'Runs a read-only SQL query and returns its rows.',
    { sql: text('SELECT statement'), params: listOf({}, 'Values of placeholders') },
    { required: ['sql'], tags: ['database'] },
  ),
  tool(
    'db.execute',
    'Runs an SQL statement that changes data (INSERT, UPDATE, DELETE).',
    { sql: text('Statement') },
    { required: ['sql'], tags: ['database', 'write'] },
  ),
  tool(
    'db.listTables',
    'Lists the tables of a schema.',
    { schema: text('Schema', { default: 'public' }) },
    { tags: ['database'] },
  ),
  tool(
    'db.describeTable',
    'Describes the columns, types and indexes of a table.',
    { table: text('Table') },
    { required: ['table'], tags: ['database'] },
  ),
  tool(
    'db.explain',
    'Shows the execution plan of a query.',
    { sql: text('SELECT statement') },
    { required: ['sql'], tags: ['database'] },
  ),
];

/** JSON texts. */
export const sampleTools: readonly string[] = [...browser, ...files, ...tickets, ...mail, ...calendars, ...database];
