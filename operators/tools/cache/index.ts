/** Results of tools, kept for all runs. */
export { type AskOnce, type Asked, type Known, askOnce } from './askOnce.ts';
export { cachedTool } from './cachedTool.ts';
export { exportReleased, importReleased } from './releasedCache.ts';
export { type CacheEntry, type CacheKind, type CachePlace, type ToolCache, type ToolCacheOptions, cacheKinds, defaultCachePath, openToolCache } from './toolCache.ts';
