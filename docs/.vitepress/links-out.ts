import { posix } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

/** What the site has: pages below docs/, and those at the root. */
const IN_THE_SITE = /^(docs\/.+|[^/]+)\.(md|svg)$/;

/**
 * Pages link to files of the repository that the site does not have. They lead to `sourceUrl` where it is given, such as
 * https://git.example.com/mcp-adapter/blob/main; otherwise only the text stays.
 */
export function linksOutOfTheSite(markdown: MarkdownRenderer, sourceUrl: string | undefined): void {
  markdown.core.ruler.push('links-out', ({ tokens, env }) => {
    const { relativePath } = env as { readonly relativePath: string };
    for (const block of tokens) {
      const opened: boolean[] = [];
      block.children = (block.children ?? []).filter((token) => {
        if (token.type === 'link_close') return opened.pop();
        if (token.type !== 'link_open') return true;
        const path = fileOf(token.attrGet('href') ?? '', relativePath);
        const leaves = path !== undefined && !IN_THE_SITE.test(path);
        if (leaves && sourceUrl !== undefined) token.attrSet('href', `${sourceUrl.replace(/\/+$/, '')}/${path}`);
        opened.push(!leaves || sourceUrl !== undefined);
        return opened.at(-1);
      });
    }
  });
}

/** From the root of the repository; undefined: the link is no file of it. */
function fileOf(href: string, page: string): string | undefined {
  const [path = ''] = href.split('#');
  if (path === '' || /^[a-z][a-z0-9+.-]*:/i.test(path)) return undefined;
  return posix.join(posix.dirname(page), decodeURI(path));
}
