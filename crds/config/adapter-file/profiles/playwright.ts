import type { Profile } from './profile.ts';

/** Nearly every action names files that the server wrote on its own, below its working folder. */
export const playwright: Profile = {
  reviewedWith: '@playwright/mcp 0.0.83',
  entries: [
    { tools: ['browser_file_upload', 'browser_drop'], arguments: { paths: 'in' } },
    { tools: ['browser_run_code_unsafe', 'browser_set_storage_state'], arguments: { filename: 'in' } },
    {
      tools: [
        'browser_console_messages',
        'browser_evaluate',
        'browser_find',
        'browser_network_request',
        'browser_network_requests',
        'browser_pdf_save',
        'browser_snapshot',
        'browser_start_video',
        'browser_storage_state',
        'browser_take_screenshot',
      ],
      arguments: { filename: 'out' },
    },
    {
      tools: ['browser_*'],
      // Whole lines only: text of a page stands within lines.
      found: [
        // - [Snapshot](storage/page-2026-01-31T10-00-00-000Z.yml)
        { pattern: String.raw`(?m)^- \[[^\n]+\]\(([^()#\n]+)\)$`, take: 'move' },
        // - Downloaded file report.csv to "storage/report.csv"
        { pattern: String.raw`(?m)^- Downloaded file [^\n]* to "([^"\n]+)"$`, take: 'move' },
        // - New console entries: storage/console-2026-01-31T10-00-00-000Z.log#L1-L4; the server goes on writing to it.
        { pattern: String.raw`(?m)^- New console entries: (?:\[[^\n]*\]\()?([^()#\n]+\.log)#L[0-9]`, take: 'copy' },
      ],
    },
  ],
};
