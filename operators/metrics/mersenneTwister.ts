/**
 * MT19937 (Matsumoto and Nishimura, 1998) seeded with one integer: the generator of numpy's legacy draws,
 * for numbers that must be those of a published resampling. Everything else draws from `base/draws.ts`.
 */

const STATE_WORDS = 624;
const MIDDLE = 397;

export interface MersenneTwister {
  /** The next 32 bits, unsigned. */
  next(): number;
  /** Whole number in [0, below): masked draws, too large ones rejected; draws nothing when `below` is 1. */
  below(below: number): number;
}

export function mersenneTwister(seed: number): MersenneTwister {
  const state = seeded(seed);
  let index = STATE_WORDS;
  const next = () => {
    if (index === STATE_WORDS) {
      twist(state);
      index = 0;
    }
    return temper(state[index++]!);
  };
  return {
    next,
    below(below) {
      if (below === 1) return 0;
      const mask = 2 ** (32 - Math.clz32(below - 1)) - 1;
      let drawn = (next() & mask) >>> 0;
      while (drawn >= below) drawn = (next() & mask) >>> 0;
      return drawn;
    },
  };
}

function seeded(seed: number): Uint32Array {
  const state = new Uint32Array(STATE_WORDS);
  state[0] = seed;
  for (let i = 1; i < STATE_WORDS; i++) {
    const previous = state[i - 1]!;
    state[i] = Math.imul(previous ^ (previous >>> 30), 1812433253) + i;
  }
  return state;
}

function twist(state: Uint32Array): void {
  for (let i = 0; i < STATE_WORDS; i++) {
    const following = i + 1 === STATE_WORDS ? 0 : i + 1;
    const bits = (state[i]! & 0x80000000) | (state[following]! & 0x7fffffff);
    const far = state[i < STATE_WORDS - MIDDLE ? i + MIDDLE : i + MIDDLE - STATE_WORDS]!;
    state[i] = far ^ (bits >>> 1) ^ (bits & 1 ? 0x9908b0df : 0);
  }
}

function temper(word: number): number {
  let y = word;
  y ^= y >>> 11;
  y ^= (y << 7) & 0x9d2c5680;
  y ^= (y << 15) & 0xefc60000;
  return (y ^ (y >>> 18)) >>> 0;
}
