/**
 * Where the parts of the mill are: sources and stages by the topics between them, from left to right by the
 * longest way that a record takes, each phase of the run in a band of its own; what flows back (a practice
 * stage that writes rollouts again, weights) runs below. If the page is too narrow for that the parts are
 * below each other, and what flows between them runs along their left. Pure.
 */
import type { MillSource, MillStage } from '../../wire/index.ts';

export interface Part {
  readonly name: string;
  readonly kind: 'source' | 'stage';
  /** Topics; empty for none. */
  readonly from: string;
  readonly to: string;
  /** Empty for none. */
  readonly phase: string;
  /** Whether there is little to say of it. */
  readonly brief: boolean;
}

export interface Box extends Part {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What is drawn behind the boxes of a phase. */
export interface Band {
  readonly phase: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Flow {
  readonly from: string;
  readonly to: string;
  readonly topic: string;
  readonly path: string;
  readonly back: boolean;
  /** Where its label is; null if there is no room for one. */
  readonly label: { readonly x: number; readonly y: number } | null;
}

export interface Mill2d {
  readonly shape: 'wide' | 'tall';
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly Box[];
  readonly bands: readonly Band[];
  readonly flows: readonly Flow[];
}

const WEIGHTS = 'weights';
/** Stages that write these are served by the policy. */
const GENERATED: ReadonlySet<string> = new Set(['rollouts', 'evolved']);

export function partsOf(
  sources: readonly Pick<MillSource, 'name' | 'to'>[],
  stages: readonly Pick<MillStage, 'name' | 'from' | 'to' | 'phase' | 'finished' | 'shares'>[],
): readonly Part[] {
  return [
    ...sources.map(({ name, to }): Part => {
      return { name, kind: 'source', from: '', to, phase: '', brief: true };
    }),
    ...stages.map(({ name, from, to, phase, finished, shares }): Part => {
      return { name, kind: 'stage', from, to, phase, brief: finished || shares === null };
    }),
  ];
}

interface Edge {
  readonly a: number;
  readonly b: number;
  readonly topic: string;
}

function edgesOf(parts: readonly Part[]): Edge[] {
  return parts.flatMap((from, a) =>
    parts.flatMap((to, b): Edge[] => {
      if (from.to === '' || to.kind === 'source') return [];
      if (from.to === to.from) return [{ a, b, topic: from.to }];
      // The policy serves what samples it: the base one what comes first, later ones all of it.
      const serves = from.to === WEIGHTS && GENERATED.has(to.to);
      const first = parts.some(({ kind, to: topic }) => kind === 'source' && topic === to.from);
      return serves && (from.kind === 'stage' || first) ? [{ a, b, topic: WEIGHTS }] : [];
    }),
  );
}

/** Edges that would close a circle, when one starts at the sources and goes in order. */
function backOf(parts: readonly Part[], edges: readonly Edge[]): ReadonlySet<Edge> {
  const back = new Set<Edge>(
    edges.filter(({ a, topic }) => topic === WEIGHTS && parts[a]!.kind === 'stage'),
  );
  const state = parts.map(() => 0);
  const visit = (at: number): void => {
    state[at] = 1;
    for (const edge of edges) {
      if (edge.a !== at || back.has(edge)) continue;
      if (state[edge.b] === 1) back.add(edge);
      else if (state[edge.b] === 0) visit(edge.b);
    }
    state[at] = 2;
  };
  parts.forEach((_, i) => {
    if (state[i] === 0) visit(i);
  });
  return back;
}

function ranksOf(parts: readonly Part[], forward: readonly Edge[]): number[] {
  const ranks = parts.map(() => 0);
  for (let round = 0; round < parts.length; round++) {
    for (const { a, b } of forward) ranks[b] = Math.max(ranks[b]!, ranks[a]! + 1);
  }
  // A part that nothing flows into goes just before what it feeds.
  parts.forEach((_, i) => {
    if (forward.some(({ b }) => b === i)) return;
    const fed = forward.filter(({ a }) => a === i).map(({ b }) => ranks[b]!);
    if (fed.length > 0) ranks[i] = Math.max(0, Math.min(...fed) - 1);
  });
  // What all phases lead to is on the right of them.
  const most = Math.max(...parts.map((part, i) => (isShared(part) ? 0 : ranks[i]!)), 0);
  parts.forEach((part, i) => {
    if (isShared(part) && part.kind === 'stage') ranks[i] = most + 1;
  });
  return ranks;
}

/** Parts that stand outside the bands: what all phases come from and lead to. */
function isShared({ kind, to }: Part): boolean {
  return kind === 'source' || to === WEIGHTS;
}

const box = { width: 168, widthMin: 132, height: 92, brief: 58, gap: 66, gapMin: 40, row: 26 };
/** Beside the outermost boxes, for what flows back. */
const margin = 16;
/** Around the boxes of a band, and for its name. */
const pad = 10;
const title = 20;

function heightOf({ brief }: Part): number {
  return brief ? box.brief : box.height;
}

/** In the order of their stages. */
function phasesOf(parts: readonly Part[]): string[] {
  return [...new Set(parts.flatMap((part) => (isShared(part) ? [] : [part.phase])))];
}

function bandOf(phase: string, boxes: readonly Box[]): Band[] {
  const own = boxes.filter((one) => one.phase === phase && !isShared(one));
  if (phase === '' || own.length === 0) return [];
  const [x, y] = [Math.min(...own.map((one) => one.x)), Math.min(...own.map((one) => one.y))];
  const right = Math.max(...own.map((one) => one.x + one.width));
  const bottom = Math.max(...own.map((one) => one.y + one.height));
  return [
    {
      phase,
      x: x - pad,
      y: y - title - 2,
      width: right - x + 2 * pad,
      height: bottom - y + title + 2 + pad,
    },
  ];
}

export function millLayout(parts: readonly Part[], width: number): Mill2d {
  const edges = edgesOf(parts);
  const back = backOf(parts, edges);
  const ranks = ranksOf(
    parts,
    edges.filter((edge) => !back.has(edge)),
  );
  const columns = Math.max(0, ...ranks) + 1;
  const need = columns * box.widthMin + (columns - 1) * box.gapMin + 2 * margin;
  return need <= width
    ? wide(parts, edges, back, ranks, columns, width)
    : tall(parts, edges, back, ranks, width);
}

function wide(
  parts: readonly Part[],
  edges: readonly Edge[],
  back: ReadonlySet<Edge>,
  ranks: readonly number[],
  columns: number,
  width: number,
): Mill2d {
  const inner = width - 2 * margin;
  const boxWidth = Math.min(
    box.width,
    Math.max(box.widthMin, (inner - (columns - 1) * box.gap) / columns),
  );
  const gap = columns > 1 ? Math.min(110, (inner - columns * boxWidth) / (columns - 1)) : 0;
  const left = (rank: number): number => margin + rank * (boxWidth + gap);
  // Long flows take a place in each column that they pass, so that they run between boxes.
  const rows = new Map<string, number>();
  const taken: Set<number>[] = Array.from({ length: columns }, () => new Set());
  const passKey = (edge: Edge, rank: number): string => `${edge.a}>${edge.b}@${rank}`;
  let first = 0;
  const put = (key: string, rank: number, wish: number): void => {
    let row = Math.max(first, wish);
    while (taken[rank]!.has(row)) row++;
    taken[rank]!.add(row);
    rows.set(key, row);
  };
  const forward = edges.filter((edge) => !back.has(edge));
  const rowBefore = (edge: Edge, rank: number): number => {
    const key = ranks[edge.a] === rank - 1 ? String(edge.a) : passKey(edge, rank - 1);
    return rows.get(key) ?? 0;
  };
  const pass = (rank: number, from: (part: Part) => boolean): void => {
    for (const edge of forward) {
      if (ranks[edge.a]! < rank && ranks[edge.b]! > rank && from(parts[edge.a]!)) {
        put(passKey(edge, rank), rank, rowBefore(edge, rank));
      }
    }
  };
  const begins = new Set<number>();
  for (const phase of phasesOf(parts)) {
    const isOwn = (part: Part): boolean => !isShared(part) && part.phase === phase;
    if (phase !== '') begins.add(first);
    for (let rank = 0; rank < columns; rank++) {
      const wishes = parts.flatMap((part, i) => {
        if (ranks[i] !== rank || !isOwn(part)) return [];
        const into = forward.filter(({ a, b }) => b === i && rows.has(String(a)));
        const alone = edges.every(({ a, b }) => a !== i && b !== i);
        return [{ i, alone, wish: Math.min(...into.map((edge) => rowBefore(edge, rank))) }];
      });
      // What nothing flows into or out of goes last.
      wishes.sort((p, q) => Number(p.alone) - Number(q.alone) || p.wish - q.wish || p.i - q.i);
      for (const { i, wish } of wishes) put(String(i), rank, Number.isFinite(wish) ? wish : first);
      pass(rank, isOwn);
    }
    first = 1 + Math.max(-1, ...rows.values());
  }
  first = 0;
  parts.forEach((part, i) => {
    if (!isShared(part)) return;
    const beside = forward.flatMap(({ a, b }) => (a === i ? [b] : b === i ? [a] : []));
    const known = beside.flatMap((other) => rows.get(String(other)) ?? []);
    const mean = known.reduce((sum, row) => sum + row, 0) / Math.max(1, known.length);
    put(String(i), ranks[i]!, Math.floor(mean));
  });
  for (let rank = 0; rank < columns; rank++) pass(rank, isShared);
  // A row is as high as its highest box; above a band there is room for its name.
  const middles: number[] = [];
  let y = 0;
  for (let row = 0; row <= Math.max(-1, ...rows.values()); row++) {
    if (begins.has(row)) y += title + (row === 0 ? 2 : 0);
    const own = parts.flatMap((part, i) => (rows.get(String(i)) === row ? [heightOf(part)] : []));
    const height = Math.max(26, ...own);
    middles.push(y + height / 2);
    y += height + box.row;
  }
  const middle = (row: number): number => middles[row]!;
  const boxes = parts.map((part, i): Box => {
    const height = heightOf(part);
    const row = rows.get(String(i))!;
    return { ...part, x: left(ranks[i]!), y: middle(row) - height / 2, width: boxWidth, height };
  });
  const lowest = Math.max(0, ...boxes.map(({ y, height }) => y + height));
  // What flows back runs below, one lane per topic: out of a box on its right, between the columns, into a
  // box from its left.
  const lanes = [...new Set([...back].map(({ topic }) => topic))];
  const labelled = new Set<string>();
  const flows = edges.map((edge): Flow => {
    const [a, b] = [boxes[edge.a]!, boxes[edge.b]!];
    const common = { from: a.name, to: b.name, topic: edge.topic };
    if (back.has(edge)) {
      const lane = lanes.indexOf(edge.topic);
      const y = lowest + pad + 18 + 22 * lane;
      const [y0, y1] = [a.y + a.height * 0.82, b.y + b.height * 0.82];
      const [x0, x1] = [a.x + a.width + 8 + 4 * lane, b.x - 16 + 4 * lane];
      const label = labelled.has(edge.topic) ? null : { x: (x0 + x1) / 2, y: y - 5 };
      labelled.add(edge.topic);
      const path = `M${a.x + a.width} ${y0}H${x0}V${y}H${x1}V${y1}H${b.x - 6}`;
      return { ...common, back: true, path, label };
    }
    const stops = [];
    for (let rank = ranks[edge.a]! + 1; rank < ranks[edge.b]!; rank++) {
      stops.push({ x: left(rank), y: middle(rows.get(passKey(edge, rank))!) });
    }
    let path = `M${a.x + a.width} ${a.y + a.height / 2}`;
    let [x, y] = [a.x + a.width, a.y + a.height / 2];
    for (const stop of [...stops, { x: b.x - 7, y: b.y + b.height / 2 }]) {
      const bend = x + gap / 2;
      path += y === stop.y ? `H${stop.x}` : `C${bend} ${y} ${bend} ${stop.y} ${stop.x} ${stop.y}`;
      [x, y] = [stop.x, stop.y];
      if (stops.some((one) => one === stop)) {
        x += boxWidth;
        path += `H${x}`;
      }
    }
    const end = boxes[edge.b]!;
    const label =
      gap >= 58 &&
      a.kind === 'stage' &&
      a.y + a.height / 2 === end.y + end.height / 2 &&
      stops.length === 0
        ? { x: a.x + a.width + gap / 2 - 3, y: end.y + end.height / 2 - 6 }
        : null;
    return { ...common, back: false, path, label };
  });
  const height = lowest + pad + (lanes.length === 0 ? 4 : 12 + 22 * lanes.length);
  const bands = phasesOf(parts).flatMap((phase) => bandOf(phase, boxes));
  return { shape: 'wide', width, height, boxes, bands, flows };
}

const list = { gap: 14, lane: 9 };

function tall(
  parts: readonly Part[],
  edges: readonly Edge[],
  back: ReadonlySet<Edge>,
  ranks: readonly number[],
  width: number,
): Mill2d {
  const phases = phasesOf(parts);
  const bandAt = (part: Part): number =>
    part.kind === 'source' ? -1 : isShared(part) ? phases.length : phases.indexOf(part.phase);
  const order = parts
    .map((_, i) => i)
    .sort((a, b) => bandAt(parts[a]!) - bandAt(parts[b]!) || ranks[a]! - ranks[b]! || a - b);
  const place = new Map(order.map((part, i) => [part, i]));
  const near = ({ a, b }: Edge): boolean => place.get(b) === place.get(a)! + 1;
  // Everything that leaves one part runs in one lane, next to those of other parts that it meets; to the next
  // part it needs none.
  const lanes: { readonly top: number; readonly bottom: number }[][] = [];
  const laneOf = new Map<number, number>();
  parts.forEach((_, a) => {
    const own = edges.filter((edge) => edge.a === a && !near(edge));
    if (own.length === 0) return;
    const stops = [a, ...own.map(({ b }) => b)].map((part) => place.get(part)!);
    const [top, bottom] = [Math.min(...stops), Math.max(...stops)];
    let lane = lanes.findIndex((used) => used.every((o) => o.bottom < top || o.top > bottom));
    if (lane < 0) lane = lanes.push([]) - 1;
    lanes[lane]!.push({ top, bottom });
    laneOf.set(a, lane);
  });
  const gutter = lanes.length === 0 ? 0 : 12 + list.lane * lanes.length;
  let y = 2;
  const byPart = new Map<number, Box>();
  order.forEach((i, at) => {
    const part = parts[i]!;
    const band = bandAt(part);
    const begins = at > 0 && band !== bandAt(parts[order[at - 1]!]!);
    if (begins) y += list.gap;
    if (begins && part.phase !== '' && !isShared(part)) y += title;
    const height = heightOf(part);
    byPart.set(i, { ...part, x: gutter, y, width: width - gutter - 2, height });
    y += height + list.gap;
  });
  const flows = edges.map((edge): Flow => {
    const [a, b] = [byPart.get(edge.a)!, byPart.get(edge.b)!];
    const [isBack, label] = [back.has(edge), null];
    const common = { from: a.name, to: b.name, topic: edge.topic, back: isBack, label };
    if (near(edge)) {
      const x = gutter + 24;
      return { ...common, path: `M${x} ${a.y + a.height}V${b.y - 6}` };
    }
    const x = gutter - 10 - list.lane * laneOf.get(edge.a)!;
    const [y0, y1] = [a.y + a.height * 0.68, b.y + b.height * 0.32];
    return { ...common, path: `M${gutter} ${y0}H${x}V${y1}H${gutter - 6}` };
  });
  const boxes = parts.map((_, i) => byPart.get(i)!);
  const bands = phases.flatMap((phase) => bandOf(phase, boxes));
  return { shape: 'tall', width, height: y - list.gap + pad, boxes, bands, flows };
}
