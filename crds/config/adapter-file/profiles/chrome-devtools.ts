import type { Profile } from './profile.ts';

/** Files of recordings are there when the tool that stops them has been called. */
export const chromeDevtools: Profile = {
  reviewedWith: 'chrome-devtools-mcp 1.11.0',
  entries: [
    {
      tools: ['take_*', 'performance_start_trace', 'performance_stop_trace', 'screencast_start'],
      arguments: { filePath: 'out' },
    },
    { tools: ['get_network_request'], arguments: { requestFilePath: 'out', responseFilePath: 'out' } },
    { tools: ['evaluate_script'], arguments: { sourcePath: 'in', filePath: 'out' } },
    { tools: ['lighthouse_audit'], arguments: { outputDirPath: 'out_dir' } },
    { tools: ['upload_file'], arguments: { filePaths: 'in' } },
  ],
};
