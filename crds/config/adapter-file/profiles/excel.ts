import type { Profile } from './profile.ts';

/** Workbooks are changed in place by most tools. */
export const excel: Profile = {
  reviewedWith: 'excel-mcp-server 2.2.2',
  entries: [
    { tools: ['create_workbook', 'import_workbook'], arguments: { path: 'out' } },
    {
      tools: ['describe_*', 'read_*', 'find_cells', 'trace_formula', 'export_workbook'],
      arguments: { path: 'in' },
    },
    { tools: ['export_csv'], arguments: { path: 'in', csv_path: 'out' } },
    { tools: ['import_csv'], arguments: { path: 'edit', csv_path: 'in' } },
    { tools: ['insert_image'], arguments: { path: 'edit', image_path: 'in' } },
    {
      tools: [
        'set_*',
        'add_*',
        'delete_*',
        'copy_*',
        'rename_sheet',
        'create_sheet',
        'create_chart',
        'create_pivot_table',
        'insert_rows_or_columns',
        '*_range',
        '*_cells',
        'goal_seek',
      ],
      arguments: { path: 'edit' },
    },
  ],
};
