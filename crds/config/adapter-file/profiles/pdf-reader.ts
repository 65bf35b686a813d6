import type { Profile } from './profile.ts';

export const pdfReader: Profile = {
  reviewedWith: '@sylphx/pdf-reader-mcp 2.4.0',
  entries: [{ tools: ['read_pdf'], arguments: { 'sources[].path': 'in' } }],
};
