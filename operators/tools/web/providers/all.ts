/** The providers by their names in `tools.search.provider`. */
export { bingKind as bing } from './bing.ts';
export { brightDataKind as brightdata } from './brightData.ts';
export { searxngKind as searxng } from './searxng.ts';
export { serperKind as serper } from './serper.ts';
export { templateKind as json } from './template.ts';
