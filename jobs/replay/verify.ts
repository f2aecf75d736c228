/**
 * `verify`: a run is recomputed from its records, and every record that comes out is compared with the
 * recorded one.
 *
 * The job is wired as usual, in a scratch folder: its questions are those recorded, its tools answer from the
 * record, every generation is made by the version that is recorded for it, and commits keep their recorded
 * order (streams/replay). What the run had not finished is left out, so a run that is still running, was
 * stopped or was killed can be verified too.
 */

import { type Clock, MillraceError, type Report } from '../../base/index.ts';
import { weightsStore } from '../../sinks/weights/index.ts';
import {
  type Control,
  type Flow,
  followControl,
  type Log,
  type Source,
  type Stage,
  type Standing,
  source,
  type Topic,
} from '../../streams/index.ts';
import {
  type Difference,
  firstDifference,
  onlySettled,
  Places,
  Retrace,
  recordDifference,
} from '../../streams/replay/index.ts';
import { runFlow } from '../../streams/run/index.ts';
import {
  allTopics,
  asked,
  type Evolved,
  type Metric,
  type ModelCallRecord,
  type Rollout,
  type ToolCall,
  topics,
  type Unanswered,
  type Weights,
} from '../../topics/index.ts';
import type { Job, JobContext, Replay } from '../defineJob.ts';
import type { RunPlace } from '../runPlace.ts';
import { HeldEngine } from './heldEngine.ts';
import { recordedItems } from './recordedItems.ts';
import { RecordedSessions } from './recordedSessions.ts';
import { RecordedCalls, recordedTools, type Strayed } from './recordedTools.ts';
import { RecordedVersions } from './recordedVersions.ts';

export interface VerifyOptions {
  readonly job: Job;
  readonly run: string;
  readonly seed: number;
  readonly settings: unknown;
  /** The log of the run, open to read. */
  readonly recorded: Log;
  /** An empty folder with an empty log in it, open to write. */
  readonly folder: string;
  readonly scratch: Log;
  /** Where a group read further ahead than its stage may: several processes, or several partitions. */
  readonly ahead?: (topic: string, group: string) => number;
  readonly clock: Clock;
  /** Aborts = stop; what was compared until then counts. */
  readonly signal: AbortSignal;
  readonly print: Report;
  /** Where to keep what is recomputed; left out = in the folder. */
  readonly place?: RunPlace;
}

export interface Verified {
  /** Null if everything recomputed is equal. */
  readonly difference: Difference | null;
  /** Records that were recomputed and are equal, by topic. */
  readonly equal: Readonly<Record<string, number>>;
  /** Weights files whose digests were equal, the first included. */
  readonly weights: number;
  readonly stopped: boolean;
}

/** What is read from the run before it is recomputed. */
interface Recorded {
  readonly standing: Standing;
  readonly places: Places;
  readonly versions: RecordedVersions;
  readonly calls: RecordedCalls;
  readonly sessions: RecordedSessions;
  /** Requests of the flywheel that got no answer, by question. */
  readonly unanswered: ReadonlyMap<string, readonly Unanswered[]>;
  /** Changes of settings that each manifest counts, by version. */
  readonly controls: ReadonlyMap<number, number>;
  /** Steps that were not trained. */
  readonly refused: ReadonlySet<number>;
  readonly counted: ReadonlySet<number>;
  /** Versions with an optimiser state. */
  readonly saved: ReadonlySet<number>;
}

async function read(log: Log): Promise<Recorded> {
  if (log.standing === undefined) {
    throw new MillraceError(
      'NO_HISTORY',
      'this log does not record how far the run had come; only runs with the embedded log can be replayed',
    );
  }
  const standing = await log.standing();
  const versions = new RecordedVersions();
  const calls = new RecordedCalls();
  const sessions = new RecordedSessions(log);
  const unanswered = new Map<string, readonly Unanswered[]>();
  const controls = new Map<number, number>();
  const refused = new Set<number>();
  const counted = new Set<number>();
  const saved = new Set<number>();
  const places = await Places.of(log, allTopics, standing, (topic, value, offset) => {
    if (topic.name === topics.rollouts.name) {
      versions.add(value as Rollout);
      sessions.addRollout(value as Rollout, offset);
    }
    if (topic.name === topics.calls.name) {
      versions.addCall(value as ModelCallRecord);
      sessions.addCall(value as ModelCallRecord, offset);
    }
    if (topic.name === topics.weights.name) {
      const { version, controls: known, state } = value as Weights;
      controls.set(version, known);
      if (state !== '') saved.add(version);
    }
    if (topic.name === topics.metrics.name) {
      const { name, step } = value as Metric;
      if (name === 'step/refused') refused.add(step);
      if (name === 'step/forward_only') counted.add(step);
    }
    if (topic.name === topics.evolved.name) {
      const { question, unanswered: none } = value as Evolved;
      if (none?.length) unanswered.set(asked(question), none);
    }
    if (topic.name === topics.toolCalls.name) calls.add(value as ToolCall, offset);
  });
  const found = { standing, places, versions, calls, sessions, unanswered };
  return { ...found, controls, refused, counted, saved };
}

export async function verify(options: VerifyOptions): Promise<Verified> {
  const record = await read(options.recorded);
  return new Verification(options, record).run();
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #record: Recorded;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #owned: { close(): Promise<void> }[] = [];
  readonly #equal: Record<string, number> = {};
  #difference: Difference | null = null;
  #toolsHeld = false;

  constructor(options: VerifyOptions, record: Recorded) {
    this.#options = options;
    this.#record = record;
    this.#signal = AbortSignal.any([options.signal, this.#ended.signal]);
  }

  async run(): Promise<Verified> {
    try {
      const control = await followControl(this.#options.scratch);
      this.#owned.push(control);
      const built = await this.#options.job.build(this.#context(control));
      this.#checkTools();
      await this.#go(built);
      if (!this.#signal.aborted) await this.#compareGiven(built);
      if (!this.#signal.aborted) this.#lookForMissing();
    } finally {
      for (const resource of this.#owned.reverse()) await resource.close();
    }
    const weights = this.#equal[topics.weights.name] ?? 0;
    const stopped = this.#difference === null && this.#options.signal.aborted;
    return { difference: this.#difference, equal: this.#equal, weights, stopped };
  }

  async #go(built: Flow): Promise<void> {
    const { scratch, clock, recorded } = this.#options;
    const { standing, places } = this.#record;
    const flow = this.#farEnough(onlySettled(this.#rewired(built), standing));
    const commitOrder = new Retrace({
      recorded,
      standing,
      places,
      given: this.#given(flow),
      onDifference: (difference) => this.#end(difference),
      onEqual: (topic, value) => this.#same(topic, value),
    });
    await runFlow(flow, { log: scratch, signal: this.#signal, clock, graceMs: 0, commitOrder });
  }

  #context(control: Control): JobContext<unknown> {
    const { run, folder, seed, settings, scratch, clock, print, place } = this.#options;
    return {
      run,
      folder,
      seed,
      settings,
      clock,
      log: scratch,
      print,
      own: (resource) => {
        this.#owned.push(resource);
        return resource;
      },
      control,
      ...(place === undefined ? {} : { place }),
      replay: this.#replay(),
    };
  }

  #replay(): Replay {
    const { scratch, folder, recorded, place } = this.#options;
    const { versions, calls, sessions, unanswered } = this.#record;
    const { controls, refused, counted, saved } = this.#record;
    return {
      engine: (live) => {
        const { resolve } = weightsStore(folder, scratch, place?.checkpoints);
        const weights$ = scratch.tap(topics.weights, { from: { kind: 'earliest' }, follow: true });
        const held = new HeldEngine(live, { versions, weights$, resolve });
        this.#owned.push({ close: async () => held.release() });
        return held;
      },
      keepAll: true,
      sessions: (id) => sessions.of(id),
      unanswered: (question) => unanswered.get(asked(question)) ?? [],
      controls: (version) => controls.get(version) ?? 0,
      refused: (step) => refused.has(step),
      counted: (step) => counted.has(step),
      saved: (version) => saved.has(version),
      tools: (live) => {
        this.#toolsHeld = true;
        const onStray = (strayed: Strayed): void => this.#end(strayedCall(strayed));
        const failureOf = (id: string): string | null => versions.failureOf(id);
        return recordedTools(live, { log: recorded, calls, mode: 'recorded', onStray, failureOf });
      },
    };
  }

  /** A replay must never call a tool. */
  #checkTools(): void {
    if (this.#toolsHeld || (this.#record.standing.ends[topics.toolCalls.name] ?? 0) === 0) return;
    throw new MillraceError(
      'REPLAY_TOOLS',
      `job ${this.#options.job.name} does not pass its tools through context.replay, so a replay would call them; use policyLoop, or call context.replay?.tools(…) and context.replay?.engine(…)`,
    );
  }

  /** A record can only be made in its turn if its cause has been read by then. */
  #farEnough(flow: Flow): Flow {
    const { ahead = () => 0 } = this.#options;
    const stages = flow.stages.map((stage): Stage => {
      const inflightMax = Math.max(stage.inflightMax, ahead(stage.from.name, stage.name));
      return { ...stage, inflightMax };
    });
    return { ...flow, stages };
  }

  /** Sources give what is recorded; stages that only show metrics to people are left out. */
  #rewired(built: Flow): Flow {
    const { recorded } = this.#options;
    const { standing } = this.#record;
    const stages = built.stages.filter(
      ({ from, to }) => to !== null || from.name !== topics.metrics.name,
    );
    const given: readonly Topic<unknown>[] = allTopics.filter((topic) => topic.given);
    const fed = [...given, ...new Set(this.#replacedSources(built).map(({ to }) => to))];
    const sources = [
      ...built.sources.filter(({ to }) => !fed.includes(to)),
      ...fed.map((topic) =>
        source(`recorded/${topic.name}`, topic, recordedItems(recorded, topic, standing)),
      ),
    ];
    return { ...built, stages, sources };
  }

  /** All except those of the first weights, which are recomputed, and of topics that a stage also writes. */
  #replacedSources({ sources, stages }: Flow): readonly Source[] {
    const written = new Set(stages.map(({ to }) => to?.name));
    return sources.filter(({ to }) => !written.has(to.name));
  }

  /** Records at the beginning of a topic that come from sources. */
  #given({ sources }: Flow): Map<string, number> {
    const { ends, marks } = this.#record.standing;
    return new Map(
      sources.map(({ to, name }) => [
        to.name,
        Math.min(ends[to.name] ?? 0, Number(marks[`source/${name}`] ?? Number.POSITIVE_INFINITY)),
      ]),
    );
  }

  /** What the job's own sources have written is compared at the end, position by position. */
  async #compareGiven(built: Flow): Promise<void> {
    const rewired = this.#rewired(built);
    for (const [name, count] of this.#given(rewired)) {
      this.#record.places.takeBefore(name, count);
      const own = built.sources.find(
        (part) => rewired.sources.includes(part) && part.to.name === name,
      );
      if (own === undefined) this.#equal[name] = count;
      else await this.#compareBeginning(own.to, count);
    }
  }

  async #compareBeginning(topic: Topic<unknown>, count: number): Promise<void> {
    const { recorded, scratch } = this.#options;
    for (let offset = 0; offset < count && !this.#signal.aborted; offset++) {
      const position = { partition: 0, offset };
      const [stored] = await recorded.fetch(topic, [position]);
      const [made] = await scratch.fetch(topic, [position]).catch(() => []);
      const found = recordDifference(topic, stored!.value, made?.value);
      const at = { topic: topic.name, id: topic.identity(stored!.value), offset };
      if (found !== null) this.#end({ kind: 'differs', ...at, ...found });
      else this.#same(topic.name, stored!.value);
    }
  }

  #lookForMissing(): void {
    for (const { topic, id, offset } of this.#record.places.left()) {
      // A dead letter about a row of a file came from a source.
      if (topic === topics.deadLetters.name && !isTopic(id.slice(0, id.indexOf('@')))) continue;
      const none = { field: '', recorded: undefined, made: undefined };
      this.#end({ kind: 'notMadeAgain', topic, id, offset, ...none });
      return;
    }
  }

  #same(topic: string, value: unknown): void {
    this.#equal[topic] = (this.#equal[topic] ?? 0) + 1;
    if (topic !== topics.weights.name) return;
    const { version, digest } = value as Weights;
    if (version === 0) return;
    const last = (this.#record.standing.ends[topic] ?? 0) - 1;
    this.#options.print(
      `version ${version} of ${last}: weights equal${digest === null ? '' : ` (${digest.slice(0, 12)}…)`} · ${this.#equal[topics.rollouts.name] ?? 0} rollouts equal`,
    );
  }

  #end(difference: Difference): void {
    this.#difference ??= difference;
    this.#ended.abort();
  }
}

const isTopic = (name: string): boolean =>
  Object.values(topics as unknown as Record<string, Topic<unknown>>).some(
    (topic) => topic.name === name,
  );

function strayedCall({ origin, tool, input, recorded, offset }: Strayed): Difference {
  const id = origin === null ? `of ${tool}` : `${origin.rolloutId}#${origin.turn}`;
  const at = { topic: topics.toolCalls.name, id, offset };
  if (recorded === null) {
    return { ...at, kind: 'notRecorded', field: '', recorded: undefined, made: { tool, input } };
  }
  const found = firstDifference({ tool: recorded.tool, input: recorded.input }, { tool, input });
  return { ...at, kind: 'differs', ...found! };
}
