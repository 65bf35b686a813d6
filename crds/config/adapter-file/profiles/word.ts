import type { Profile } from './profile.ts';

/** Documents are changed in place by most tools; some write the result to another file where they are given one. */
export const word: Profile = {
  reviewedWith: 'office-word-mcp-server 1.1.11',
  entries: [
    { tools: ['create_document'], arguments: { filename: 'out' } },
    {
      tools: ['get_*', 'find_text_in_document', 'validate_document_footnotes'],
      arguments: { filename: 'in' },
    },
    { tools: ['copy_document'], arguments: { source_filename: 'in', destination_filename: 'out' } },
    {
      tools: [
        'convert_to_pdf',
        'add_footnote_after_text',
        'add_footnote_before_text',
        'add_footnote_enhanced',
        'delete_footnote_from_document',
      ],
      arguments: { filename: 'in', output_filename: 'out' },
    },
    { tools: ['add_picture'], arguments: { filename: 'edit', image_path: 'in' } },
    {
      tools: [
        'add_*',
        'insert_*',
        'delete_*',
        'replace_*',
        'set_*',
        'format_*',
        'merge_*',
        'apply_*',
        'highlight_*',

        'auto_fit_*',
        'customize_*',
        'search_and_replace',
        'create_custom_style',
        'protect_document',
        'unprotect_document',
      ],
      arguments: { filename: 'edit' },
    },
  ],
};
