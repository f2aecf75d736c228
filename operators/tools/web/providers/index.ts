/** Search providers, one file each. */
export { bing } from './bing.ts';
export { providerKinds } from './kinds.ts';
export type { ProviderOptions, SearchProvider } from './provider.ts';
export { searxng } from './searxng.ts';
export { serper } from './serper.ts';
