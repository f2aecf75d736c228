/**
 * The possible faults of a simulated world, as plain data, and the faults of a seed: each is drawn
 * separately, so that one can be left out and the others stay the same.
 */
import { draws } from '../../base/index.ts';
import type { Shape } from '../world/shape.ts';

/** A stretch of time, counted from the start of the run. */
interface Lasting {
  readonly fromMs: number;
  readonly forMs: number;
}

export type Fault =
  /** The process that does the world's `point`-th thing dies right there. */
  | { readonly kind: 'crash'; readonly point: number }
  /** The process with this number dies at a moment, whatever it is doing. */
  | { readonly kind: 'kill'; readonly fromMs: number; readonly process: number }
  /** The process stalls: its machine is suspended, or swaps. */
  | ({ readonly kind: 'still'; readonly process: number } & Lasting)
  /** The clock on the wall of all processes jumps. */
  | { readonly kind: 'jump'; readonly fromMs: number; readonly byMs: number }
  /** Nothing more can be written, to the log or beside it. */
  | ({ readonly kind: 'full' } & Lasting)
  /** The log cannot be reached; only where it is shared by processes. */
  | ({ readonly kind: 'broker' } & Lasting)
  /** No leader is elected yet: a commit's outcome may stay unknown (world/broker.ts). */
  | ({ readonly kind: 'elect' } & Lasting)
  /** The process stalls, and another one is started under its name before it continues. */
  | ({ readonly kind: 'twice'; readonly process: number } & Lasting)
  /**
   * The policy's servers do not answer; or they come back with the weights of their start, or with those of
   * several versions ago.
   */
  | ({ readonly kind: 'server' } & Lasting)
  | { readonly kind: 'restart'; readonly fromMs: number; readonly behind: number | null }
  /** A share of its replies is lost, or comes late. */
  | ({ readonly kind: 'lost'; readonly share: number } & Lasting)
  | ({ readonly kind: 'late'; readonly share: number } & Lasting)
  /** A share of tool calls hangs; the tool is not there. */
  | ({ readonly kind: 'hang'; readonly share: number } & Lasting)
  | ({ readonly kind: 'down' } & Lasting)
  /** A share is answered after the tool's deadline, or when the call has been called off. */
  | ({ readonly kind: 'overdue'; readonly share: number } & Lasting)
  /** A share of answers comes a second time; only where calls go through topics. */
  | ({ readonly kind: 'again'; readonly share: number } & Lasting)
  /** Someone pauses the run, and resumes it later. */
  | ({ readonly kind: 'pause' } & Lasting)
  /** Someone stops it; it is started again. */
  | { readonly kind: 'stop'; readonly fromMs: number }
  /** Someone changes a setting, and the request is delivered twice. */
  | {
      readonly kind: 'set';
      readonly fromMs: number;
      readonly setting: string;
      readonly value: number;
    };

export type FaultKind = Fault['kind'];

export const faultKinds: readonly FaultKind[] = [
  ...(['crash', 'kill', 'still', 'jump', 'full', 'broker', 'elect', 'twice'] as const),
  ...(['server', 'restart'] as const),
  ...(['lost', 'late', 'hang', 'down', 'overdue', 'again', 'pause', 'stop', 'set'] as const),
];

/** Those that change the results of a question, and so the weights, not only the timing. */
const TELLING: readonly FaultKind[] = ['server', 'lost', 'hang', 'down', 'overdue', 'set'];

/** Whether a run with these faults must end with the weights of one without. */
export function changeNothing(faults: readonly Fault[]): boolean {
  return faults.every(({ kind }) => !TELLING.includes(kind));
}

/** Only where the log is shared by processes. */
const SHARED: readonly FaultKind[] = ['broker', 'elect', 'twice'];

/** About as long as a small run takes, and as many things as it does. */
const RUN_MS = 12_000;
const RUN_POINTS = 700;

/** The faults of a seed, of these kinds. Most are crashes. */
export function faultsOf(shape: Shape, kinds: readonly FaultKind[] = faultKinds): readonly Fault[] {
  const draw = draws('faults', shape.seed);
  const count = draw.integer(0, 8);
  return Array.from({ length: count }, (_, i) => faultOf(draw.under(i), shape)).filter(({ kind }) =>
    kinds.includes(kind),
  );
}

function faultOf(draw: ReturnType<typeof draws>, { processes, settings }: Shape): Fault {
  const several = processes.length > 1;
  const not = [
    ...(several ? [] : SHARED),
    ...(settings.toolCalls === 'topics' ? [] : (['again'] as const)),
  ];
  const often: readonly FaultKind[] = ['crash', 'crash', 'crash', 'crash', 'kill', 'stop'];
  const possible = [...often, ...SHARED, ...faultKinds].filter((kind) => !not.includes(kind));
  const kind = possible[draw.integer(0, possible.length)]!;
  // Early things are done more often than late ones.
  const early = draw.uniform(1) ** 1.5;
  const fromMs = Math.floor(early * RUN_MS);
  const late = draw.uniform(1) * 1.5 * RUN_MS;
  const forMs = 200 + Math.floor(draw.uniform(2) ** 3 * 30_000);
  const share = 0.1 + 0.8 * draw.uniform(3);
  const process = draw.integer(4, processes.length);
  switch (kind) {
    case 'crash':
      return { kind, point: 1 + Math.floor(early * RUN_POINTS) };
    case 'kill':
      return { kind, fromMs, process };
    case 'still':
      return { kind, fromMs, forMs, process };
    case 'twice':
      return { kind, fromMs, forMs: 4_000 + forMs / 4, process };
    case 'elect':
      // At the end of a run too, where an undecided transaction decides whether everything is done.
      return { kind, fromMs: late, forMs: 500 + draw.uniform(2) * 6_000 };
    case 'jump':
      return { kind, fromMs, byMs: Math.floor((draw.uniform(5) - 0.3) * 3_600_000) };
    case 'restart': {
      const behind = draw.integer(7, 4);
      // Later, when there are versions to fall behind.
      return { kind, fromMs: late, behind: behind === 0 ? null : behind };
    }
    case 'stop':
      return { kind, fromMs };
    case 'lost':
    case 'late':
    case 'hang':
    case 'overdue':
    case 'again':
      return { kind, fromMs, forMs, share };
    case 'set': {
      const [setting, value] = (
        [
          ['temperature', 0.5 + draw.uniform(6)],
          ['lr', 1e-5 * (1 + draw.integer(6, 9))],
          ['concurrency', 1 + draw.integer(6, 5)],
        ] as const
      )[draw.integer(5, 3)]!;
      return { kind, fromMs, setting, value };
    }
    default:
      return { kind, fromMs, forMs };
  }
}
