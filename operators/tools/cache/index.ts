/** Results of tools, cached for all runs. */
export { type Asked, type AskOnce, askOnce, type Known } from './askOnce.ts';
export { cachedTool } from './cachedTool.ts';
export { exportReleased, importReleased } from './releasedCache.ts';
export {
  type CacheEntry,
  type CacheKind,
  type CachePlace,
  cacheKinds,
  defaultCachePath,
  openToolCache,
  type ToolCache,
  type ToolCacheOptions,
} from './toolCache.ts';
