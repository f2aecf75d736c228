/**
 * What a browser reports about a visible page: its frames, its main thread's processor time, its heap.
 */
import type { CDPSession, Page } from 'playwright-core';
import { pause } from '../table.ts';

/** Set by a page that keeps up. */
export const FRAME_MS = 1000 / 60;

export interface Looked {
  /** Between two frames, 99 % of them within. */
  readonly p99Ms: number;
  /** Processor time of the main thread a second. */
  readonly busyMs: number;
}

/** Measures processor time for this long, then frames: counting them costs a third of what a page does. */
export async function lookAt(page: Page, seconds: number): Promise<Looked> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await metric(cdp, 'TaskDuration');
  await pause(1000 * seconds);
  const busyMs = (1000 * ((await metric(cdp, 'TaskDuration')) - before)) / seconds;
  await cdp.detach();
  await page.evaluate(`globalThis.frames = [];
    globalThis.lastFrame = undefined;
    globalThis.onFrame = (ms) => {
      if (lastFrame !== undefined) frames.push(ms - lastFrame);
      lastFrame = ms;
      if (onFrame !== null) requestAnimationFrame(onFrame);
    };
    requestAnimationFrame(onFrame);`);
  await pause(1000 * seconds);
  const frames = await page.evaluate<number[]>('onFrame = null, frames');
  const sorted = frames.toSorted((a, b) => a - b);
  return { p99Ms: sorted[Math.floor(0.99 * sorted.length)] ?? Infinity, busyMs };
}

/** What is left after garbage collection. */
export async function heapBytes(page: Page): Promise<number> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('HeapProfiler.enable');
  await cdp.send('Performance.enable');
  await cdp.send('HeapProfiler.collectGarbage');
  await cdp.send('HeapProfiler.collectGarbage');
  const bytes = await metric(cdp, 'JSHeapUsedSize');
  await cdp.detach();
  return bytes;
}

async function metric(cdp: CDPSession, wanted: string): Promise<number> {
  const { metrics } = await cdp.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === wanted)!.value;
}
