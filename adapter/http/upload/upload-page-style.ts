/** The style of the upload page; allowed by its hash, so every byte counts. */
export const UPLOAD_PAGE_STYLE = `
:root { color-scheme: light dark; --text: light-dark(#1c2024, #edeef0); --quiet: light-dark(#4d5560, #b3b9c2);
  --ground: light-dark(#f4f5f7, #16181c); --card: light-dark(#ffffff, #202329); --line: light-dark(#8b94a1, #767e8a);
  --accent: light-dark(#0b57b7, #8ab8ff); --on-accent: light-dark(#ffffff, #0d1b2e);
  --bad: light-dark(#a3161c, #ffb0a8); --good: light-dark(#13652d, #83d99b); }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
body { margin: 0; padding: 2rem 1rem; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 44rem; margin: 0 auto; padding: 1.5rem; background: var(--card); border-radius: .75rem; }
h1 { margin: 0 0 .5rem; font-size: 1.4rem; line-height: 1.25; }
h1:focus, h2:focus { outline: none; }
h2 { margin: 1.5rem 0 .25rem; font-size: 1rem; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
a { color: var(--accent); }
.quiet, dt { color: var(--quiet); font-size: .9rem; }
.drop { margin: 1rem 0; padding: 1.5rem 1rem; border: 2px dashed var(--line); border-radius: .5rem; text-align: center; }
.drop.over { border-style: solid; border-color: var(--accent); }
.drop label { display: block; font-weight: 600; }
.drop input { max-width: 100%; margin: .75rem 0 .25rem; font: inherit; color: inherit; }
.field label { display: block; font-weight: 600; }
.field input { width: 100%; padding: .4rem; font: .9rem/1.4 ui-monospace, monospace; }
ul.files { margin: 1rem 0; padding: 0; list-style: none; }
ul.files li { display: flex; gap: .75rem; align-items: baseline; padding: .25rem 0; }
ul.files .name { flex: 1; overflow-wrap: anywhere; }
button, ::file-selector-button { padding: .4rem .9rem; border: 1px solid var(--line); border-radius: .4rem;
  background: transparent; color: inherit; font: inherit; cursor: pointer; }
button.main { padding: .6rem 1.4rem; border-color: transparent; background: var(--accent); color: var(--on-accent);
  font-weight: 600; }
button:disabled { opacity: .5; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
progress { display: block; width: 100%; height: 1rem; accent-color: var(--accent); }
.problem { margin: 1rem 0; padding: .75rem 1rem; border-left: 4px solid var(--bad); color: var(--bad); }
#parts progress { flex: 1; min-width: 6rem; }
#parts .quiet { min-width: 12rem; text-align: right; font-variant-numeric: tabular-nums; }
.taken { padding: .6rem .9rem; border: 1px solid var(--line); border-radius: .5rem; }
.taken.done { border-color: var(--good); font-weight: 600; }
.done { color: var(--good); }
dl { margin: .25rem 0; }
dd { display: flex; gap: .75rem; align-items: start; margin: 0 0 .5rem; }
dd code, .all code { flex: 1; padding: .35rem 0; overflow-wrap: anywhere; white-space: pre-line;
  user-select: all; font: .9rem/1.4 ui-monospace, monospace; }
`;
