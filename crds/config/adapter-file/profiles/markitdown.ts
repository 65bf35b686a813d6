import type { Profile } from './profile.ts';

export const markitdown: Profile = {
  reviewedWith: 'markitdown-mcp 0.0.1a8',
  entries: [{ tools: ['convert_to_markdown'], arguments: { uri: { role: 'in', as: 'file_uri' } } }],
};
