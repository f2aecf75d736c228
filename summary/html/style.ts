/**
 * The style of the report page: system fonts, one column of sections, light and dark. In a shadow root its
 * host acts as the root and the body; ground and margins are then the page's around it. The shade at an edge
 * says that there is more behind it: covers scroll with the content, shades do not.
 */
import { trusted } from './html.ts';

export const style = trusted(`
:root { --ground: #fcfcfb; }
:root, :host { color-scheme: light dark; --card: #ffffff; --ink: #1d1f23; --muted: #666b73;
  --line: #e3e4e6; --s0: #2a6fd1; --s1: #c05a10; --s2: #2f7d4f; --good: #12703c; --bad: #b3261e;
  --think: #5d6470; --search: #1d62b8; --python: #7a3fb0; --result: #3c6b34; --answer: #a8480a; }
@media (prefers-color-scheme: dark) { :root { --ground: #16181b; } :root, :host { --card: #1e2125; --ink: #e6e7e9;
  --muted: #9aa0a8; --line: #33373d; --s0: #6aa6f5; --s1: #f0954a; --s2: #6fc795; --good: #63c78d; --bad: #f28b82;
  --think: #a3abb6; --search: #7fb4f5; --python: #c39bea; --result: #95c98b; --answer: #f3a56a; } }
* { box-sizing: border-box; }
body, :host { margin: 0 auto; max-width: 72rem; color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
body { padding: 2rem 1.25rem 4rem; background: var(--ground); }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2.5rem 0 .75rem; }
.muted, .tick { color: var(--muted); fill: var(--muted); } p { margin: .25rem 0; }
figure, .sample { background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
.headline { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; margin: 0 0 1rem; }
.headline strong { font-size: 2rem; font-weight: 600; letter-spacing: -.01em; font-variant-numeric: tabular-nums; }
.headline i { font-style: normal; color: var(--muted); }
.good { color: var(--good) !important; } .bad { color: var(--bad) !important; }
.scroll { overflow-x: auto; background: linear-gradient(to right, var(--ground) .75rem, transparent) left / 2rem 100% local,
  linear-gradient(to left, var(--ground) .75rem, transparent) right / 2rem 100% local,
  linear-gradient(to right, var(--line), transparent) left / .75rem 100% scroll,
  linear-gradient(to left, var(--line), transparent) right / .75rem 100% scroll; background-repeat: no-repeat; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .8rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { font-weight: 500; color: var(--muted); } 
.settings { width: 100%; } .settings td { text-align: left; white-space: normal; overflow-wrap: anywhere; vertical-align: top; }
.settings td.key { width: 22rem; min-width: 13rem; overflow-wrap: normal; font: 13px/1.6 ui-monospace, monospace; }
.settings .changed .key::before { content: '●'; color: var(--s1); margin-right: .5rem; }
details { margin-top: .5rem; } summary { cursor: pointer; color: var(--muted); padding: .25rem 0; }
.figures { width: 100%; } .figures b { font-weight: 600; } .figures small { display: block; color: var(--muted); white-space: normal; max-width: 22rem; }
.figures td { padding: .4rem .5rem; } .figures th { padding-inline: .5rem; } .figures td.ends, .figures .ends { color: var(--muted); font-size: .85rem; text-align: left; padding-left: 0; }
.figures th[colspan] { text-align: center; } .figures .scale { width: 15rem; min-width: 11rem; }
.figures th .before { color: var(--s0); } .figures th .after { color: var(--s1); margin-left: .5rem; }
.scale circle { stroke-width: 2; } .scale .before { stroke: var(--s0); fill: var(--card); } .scale .after { stroke: var(--s1); fill: var(--s1); }
.scale .interval { stroke-width: 5; opacity: .3; stroke-linecap: round; }

.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(19rem, 100%), 1fr)); gap: .75rem; }
figure { margin: 0; padding: .75rem; } figcaption { font-weight: 500; display: flex; gap: 1rem; flex-wrap: wrap; }
svg { width: 100%; height: auto; display: block; } .tick { font-size: 11px; }
.grid { stroke: var(--line); } .mark { stroke: var(--muted); stroke-dasharray: 2 4; opacity: .6; }
.series polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
.s0 polyline { stroke: var(--s0); } .s1 polyline { stroke: var(--s1); }
.s0 .dot { fill: var(--s0); } .s1 .dot { fill: var(--s1); } .dot { stroke: var(--card); }
.series .raw { stroke-width: 1.2; opacity: .35; } .series .interval { stroke-width: 1.5; opacity: .6; }
.s0 .interval { stroke: var(--s0); } .s1 .interval { stroke: var(--s1); } .axis-tick { stroke: var(--muted); }
.at rect { fill: transparent; } .readout { visibility: hidden; pointer-events: none; } .at:hover .readout { visibility: visible; }
.readout line { stroke: var(--muted); opacity: .5; } .readout text, .rest { font-size: 11.5px; fill: var(--ink); font-variant-numeric: tabular-nums; }
.rest { fill: var(--muted); } svg:hover .rest { visibility: hidden; } .readout .s0 { fill: var(--s0); } .readout .s1 { fill: var(--s1); }
.radar svg { max-width: 36rem; margin: 0 auto; } .ring { fill: none; stroke: var(--line); } .axis { font-size: 12px; fill: var(--ink); }
.area polygon { fill-opacity: .14; stroke-width: 2; stroke-linejoin: round; }
.area.s0 { fill: var(--s0); } .area.s1 { fill: var(--s1); } .area.s2 { fill: var(--s2); }
.area.s0 polygon { stroke: var(--s0); } .area.s1 polygon { stroke: var(--s1); stroke-dasharray: 7 4; }
.area.s2 polygon { stroke: var(--s2); stroke-dasharray: 2 3; } .corner { stroke: var(--card); }
.key b { font-weight: 400; } .key.s0 b { color: var(--s0); } .key.s1 b { color: var(--s1); } .key.s2 b { color: var(--s2); }
th.left, td.left { text-align: left; } .mean td { color: var(--muted); }
.legend { display: flex; gap: .9rem; font-weight: 400; color: var(--muted); font-size: .85rem; }
.key i { display: inline-block; width: .9rem; height: 3px; margin-right: .35rem; vertical-align: middle; }
.key.s0 i { background: var(--s0); } .key.s1 i { background: var(--s1); }
.sample { padding: 1rem; margin-bottom: .75rem; } .pair { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.pair > div { min-width: 0; } .chip { font-size: .85rem; margin: .75rem 0 .25rem; }
pre { margin: 0; padding: .75rem; overflow-x: auto; border: 1px solid var(--line); border-radius: 6px;
  font: 12.5px/1.5 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; }
.t-think { color: var(--think); } .t-search { color: var(--search); } .t-python, .t-tool { color: var(--python); }
.t-result { color: var(--result); } .t-answer { color: var(--answer); } b { font-weight: 600; } .open::before { content: '\\A'; white-space: pre; }
@media (max-width: 56rem) { th, td { padding-inline: .5rem; } .figures .scale { display: none; } }
@media (max-width: 44rem) { .figures small { display: none; } .figures td { padding: .4rem .25rem; } .settings td.key { width: auto; min-width: 9rem; } }

tr > :first-child { padding-left: 0; }`);
