/**
 * What the machine can do through the same runtime, and how much of it others take meanwhile.
 */
import { readFileSync } from 'node:fs';
import { Graph } from '../../model/graph/graph.ts';
import { openSession, type Session } from '../../model/runtime/session.ts';
import { timeMs } from '../table.ts';

const SIDE = 2048;
const READ_BYTES = 256 << 20;

/** The runtime's largest products, and its reading of memory. */
export class Peak {
  readonly #gemm: Session;
  readonly #read: Session;
  readonly #matrix = { shape: [SIDE, SIDE], data: new Float32Array(SIDE * SIDE).fill(0.5) };
  readonly #bytes = { shape: [64, READ_BYTES / 256], data: new Float32Array(READ_BYTES / 4) };

  private constructor(gemm: Session, read: Session) {
    this.#gemm = gemm;
    this.#read = read;
    this.#bytes.data.fill(0.5);
  }

  static async open(threads: number): Promise<Peak> {
    const product = new Graph();
    const square = (name: string) => product.input(name, 'float32', [SIDE, SIDE]);
    const c = product.node('Gemm', [square('a'), square('b')], [SIDE, SIDE]);
    // one number out, so that copying the result is not counted
    product.output('c', product.node('ReduceMax', [c], [], { attributes: { keepdims: 0 } }));
    const sum = new Graph();
    const x = sum.input('x', 'float32', [64, READ_BYTES / 256]);
    const least = sum.node('ReduceSum', [x, sum.integers([1])], [64, 1]);
    sum.output('sum', least);
    const options = { threads };
    const peak = new Peak(
      await openSession(product.model(), options),
      await openSession(sum.model(), options),
    );
    await peak.gemm();
    await peak.read();
    return peak;
  }

  /** Floating-point operations per second of a product of two matrices of 2048 x 2048. */
  async gemm(): Promise<number> {
    const ms = await timeMs(() => this.#gemm.run({ a: this.#matrix, b: this.#matrix }));
    return (1000 * 2 * SIDE ** 3) / ms;
  }

  /** Bytes per second of the sums over 256 MiB. */
  async read(): Promise<number> {
    return (1000 * READ_BYTES) / (await timeMs(() => this.#read.run({ x: this.#bytes })));
  }

  async close(): Promise<void> {
    await this.#gemm.release();
    await this.#read.release();
  }
}

/** Ticks of /proc, per second. */
const TICKS = 100;

/**
 * How many cores others keep busy: what the system did, without this process and those in `own`. NaN where
 * the system does not say.
 */
export class Others {
  readonly #own: readonly number[];
  readonly #startedMs = performance.now();
  readonly #start: number;

  constructor(own: readonly number[]) {
    this.#own = own;
    this.#start = this.#ticks();
  }

  cores(): number {
    const seconds = (performance.now() - this.#startedMs) / 1000;
    return Math.max(0, (this.#ticks() - this.#start) / TICKS / seconds);
  }

  #ticks(): number {
    try {
      const [, user, nice, system, , , irq, softIrq, steal] = fields('/proc/stat').map(Number);
      const all = user! + nice! + system! + irq! + softIrq! + steal!;
      const { user: mine, system: kernel } = process.cpuUsage();
      return this.#own.reduce(
        (left, pid) => left - spent(pid),
        all - ((mine + kernel) * TICKS) / 1e6,
      );
    } catch {
      return Number.NaN;
    }
  }
}

/** Ticks that a process has taken. */
function spent(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const after = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(after[11]) + Number(after[12]);
}

function fields(path: string): string[] {
  return readFileSync(path, 'utf8').split('\n')[0]!.split(/\s+/);
}
