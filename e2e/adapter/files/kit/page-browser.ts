import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { findChromium } from '../../../support/chromium.ts';

const PATIENCE_MS = 15_000;

export type { Page } from 'playwright-core';

/** A browser that runs as root and without a display. */
export async function startBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: await findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
}

/** Opens a tab of its own for one test. What the page complains about, and what it loads from elsewhere, fails the test. */
export async function withTab(
  browser: Browser,
  options: BrowserContextOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext(options);
  try {
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    const complaints: string[] = [];
    const hosts = new Set<string>();
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      // Answers with an error status are part of the tests.
      if (message.type() === 'error' && !message.text().includes('Failed to load resource')) {
        complaints.push(message.text());
      }
    });
    page.on('request', (request) => hosts.add(new URL(request.url()).host));
    await use(page);
    expect(complaints).toEqual([]);
    expect(hosts.size).toBe(1);
  } finally {
    await context.close();
  }
}

/** No rule of axe is broken, of those for WCAG 2.2 AA and of its best practices. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async () => {
      const { axe: checker } = globalThis as unknown as { axe: { run(): Promise<{ violations: unknown[] }> } };
      return (await checker.run()).violations;
    });
    expect([colorScheme, violations]).toEqual([colorScheme, []]);
  }
}
