import type { Profile } from './profile.ts';

/** Tools of folders stay as they are: they are for files that lie at the server. */
export const filesystem: Profile = {
  reviewedWith: '@modelcontextprotocol/server-filesystem 2026.8.31',
  entries: [
    { tools: ['read_file', 'read_text_file', 'read_media_file', 'get_file_info'], arguments: { path: 'in' } },
    { tools: ['read_multiple_files'], arguments: { paths: 'in' } },
    { tools: ['write_file'], arguments: { path: 'out' } },
    { tools: ['edit_file'], arguments: { path: 'edit' } },
    { tools: ['move_file'], arguments: { source: 'in', destination: 'out' } },
  ],
};
