/** The report as HTML. */
export { benchmarkPage } from './benchmarkPage.ts';
export { type Html, html } from './html.ts';
export { type Page, pageOf } from './page.ts';
export { reportOf } from './reportPage.ts';
export { style } from './style.ts';
