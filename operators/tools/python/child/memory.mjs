// Linear memory, kept and put back. Half of it is zeros, which need not be copied, only cleared.

const BLOCK_BYTES = 64 * 1024;

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
