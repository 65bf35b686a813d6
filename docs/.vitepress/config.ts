/**
 * `npm run docs` builds the site from the Markdown of the repository. Its pages are written for a Git host as well, so links
 * are relative and name files, and the site has the folders of the repository. README.md is its first page.
 */
import { defineConfig } from 'vitepress';
import { linksOutOfTheSite } from './links-out.ts';
import { NAVIGATION, sidebar } from './sidebar.ts';
import { slug } from './slug.ts';

export default defineConfig({
  title: 'MCP adapter',
  description: 'Run MCP servers and JSON APIs on Kubernetes',
  srcDir: '..',
  // READMEs of folders are maps of the code, for its readers.
  srcExclude: ['!(docs)/**/*'],
  rewrites: { 'README.md': 'index.md' },
  markdown: {
    anchor: { slugify: slug },
    // Braces in headings and tables are text.
    attrs: false,
    config: (markdown) => linksOutOfTheSite(markdown, process.env['DOCS_SOURCE_URL']),
  },
  themeConfig: {
    nav: NAVIGATION,
    sidebar: sidebar(),
    search: { provider: 'local' },
    outline: [2, 3],
  },
});
