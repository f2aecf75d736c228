// Linear memory: bounded, kept and put back.
//
// The bound is on what a program asks for, so that it does not depend on how far an earlier program had
// made the memory grow. Half of the kept memory is zeros, which need not be copied, only cleared.

const BLOCK_BYTES = 64 * 1024;
const PAGE_BYTES = 65536;

/** A request past the bound is refused: Python raises MemoryError. */
export function boundRequests(imports, bytesMax) {
  const resize = imports.emscripten_resize_heap;
  const bounded = (bytes) => (bytes >>> 0 <= bytesMax ? resize(bytes) : 0);
  imports.emscripten_resize_heap = Object.assign(bounded, resize);
}

/** The allocator asks for more than it was asked for; it is given what there is up to the bound. */
export function boundGrowth(memory, bytesMax) {
  const { grow } = memory;
  memory.grow = (pages) => {
    const free = Math.floor((bytesMax - memory.buffer.byteLength) / PAGE_BYTES);
    return grow.call(memory, Math.min(pages, Math.max(0, free)));
  };
  return memory;
}

/** Runs of blocks that are all zero, or not. */
function runsOf(bytes) {
  const runs = [];
  for (let start = 0; start < bytes.length; start += BLOCK_BYTES) {
    const end = Math.min(start + BLOCK_BYTES, bytes.length);
    const zero = bytes.subarray(start, end).every((byte) => byte === 0);
    const last = runs.at(-1);
    if (last?.zero === zero) last.end = end;
    else runs.push({ start, end, zero });
  }
  return runs;
}

/** Keeps the memory as it is now. `restore` writes every byte, those that it grew by since included. */
export function keepMemory(memory) {
  const kept = new Uint8Array(memory.buffer).slice();
  const runs = runsOf(kept);
  return {
    restore() {
      const now = new Uint8Array(memory.buffer);
      for (const { start, end, zero } of runs) {
        if (zero) now.fill(0, start, end);
        else now.set(kept.subarray(start, end), start);
      }
      now.fill(0, kept.length);
    },
    /** By how much it has grown, in bytes. */
    grownBytes: () => memory.buffer.byteLength - kept.length,
  };
}
