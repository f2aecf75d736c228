/**
 * What the page's server says and its client reads: every JSON twin, every event of the stream, and the layout of
 * `tokens.bin`. Types and a few constants, no imports: a browser bundle takes it as it is.
 *
 * Holds true of all of it:
 * - Times are milliseconds since 1970 (`…Ms` also of durations). Shares are 0..1. Unknown or not yet there is `null`, never
 *   0 and never left out; a number is finite (what was NaN or infinite is counted and said where it was).
 * - A `ref` names a record for ever by where it lies: `812` is offset 812 of partition 0, `2-812` of partition 2. It is what
 *   stands for ROLLOUT in `/r/RUN/t/ROLLOUT`; the server also takes a rollout's id there (URL-encoded).
 * - Where less is given than there is, the object says so with both numbers (`shown`/`total`, `scanned`/`of`, `Cut`).
 * - Text of the run (of policies, tools, questions) is raw and hostile: draw it with `textContent` only.
 * - New fields may be added at any time; `WIRE` rises when one changes its meaning.
 *
 * Pages and their twins (a twin's address is the page's path with `.json`, query kept; `/` has `/runs.json`):
 *
 *   /                          RunsTwin
 *   /r/RUN                     OverviewTwin        ?at=
 *   /r/RUN/metrics             MetricsTwin         ?m=a,b &x=step|time|tokens &from= &to= &n=1600 &with=RUN2,RUN3 &at=
 *   /r/RUN/topics              TopicsTwin          ?at=
 *   /r/RUN/topics/TOPIC        TopicTwin           ?offset= &partition= &dir=back|on &where= &key= &limit=100 &full=1 &at=; also `.ndjson`
 *   /r/RUN/pareto              ParetoTwin          ?step= | ?round= &x= &y= &at=
 *   /r/RUN/q/QUESTION          QuestionTwin        ?at=     (the id URL-encoded)
 *   /r/RUN/t/ROLLOUT           TrajectoryTwin      ?at= &full=1
 *   /r/RUN/t/ROLLOUT/tokens.bin  see `TokensHeader`
 *   /r/RUN/weights/VERSION     WeightsTwin         ?at=
 *   /r/RUN/replay              ReplayTwin
 *   /diff/RUN_A..RUN_B         DiffTwin            ?only=flips
 *   /control.json              ControlTwin
 *   /stream                    server-sent events, see `StreamEvents`   ?run=RUN[:metric,metric…] (repeated) &runs=1 &since=RUN@CURSOR[;RUN@CURSOR…]
 *
 * `?at=step:120` (as of the weights that step 120 made) or `?at=offset:812` (of the topic `weights`). An error is an
 * `ErrorBody` with its HTTP status. All twins take GET and HEAD.
 *
 * With `view --control` there are three POSTs, with `X-Millrace: 1`, `X-Millrace-Control: TOKEN` and a JSON body:
 *
 *   /control/admission         {run, paused}       → ControlSaid, once the run has written it down
 *   /control/verify            {run}               → ControlTwin, with status 202
 *   /control/replay            {run, from}         → ControlTwin, with status 202
 */
import type { RunState } from '../../summary/state.ts';

/** Version of this file. */
export const WIRE = 1;

/** Bounds that both sides know. */
export const limits = {
  /** Buckets of a series on the server, and the most that `n=` gives. */
  bucketsMax: 4096,
  bucketsDefault: 1600,
  /** Series that are kept of a run; the others are listed and read from the log when asked for. */
  seriesMax: 200,
  /** Metrics in one `m=`, runs in one `with=`. */
  metricsMax: 64,
  withMax: 7,
  /** Runs and metrics of one stream. */
  streamRunsMax: 4,
  streamMetricsMax: 32,
  /** Rows of one answer of a topic. */
  rowsDefault: 100,
  rowsMax: 1000,
  /** Records that one request with `where=` or `key=` reads. */
  scanMax: 10_000,
  /** Bytes of a text in a row, in a single record (`limit=1`) or turn, and with `full=1`. */
  textInRow: 2_000,
  textInRecord: 65_536,
  textFull: 8_388_608,
  paretoMax: 8_000,
  flipsMax: 500,
} as const;

/* ───────────────────────────────────────────────────────── common parts */

/** Every error, and what to do about it. */
export interface ErrorBody {
  readonly error: {
    /** `NO_RUN`, `NOT_FOUND`, `USAGE`, `TOKEN`, `HOST`, `DAMAGED`, `UNAVAILABLE`, … */
    readonly code: string;
    readonly message: string;
  };
}

export type RunStatus = 'running' | 'done' | 'stopped' | 'failed';

export type { RunState };

/** A run, as every page's head shows it. */
export interface RunHead {
  readonly name: string;
  readonly job: string;
  readonly seed: number;
  readonly status: RunStatus;
  readonly state: RunState;
  /** A sentence, where there is something to say: how to resume it, why it failed. Else empty. */
  readonly stateText: string;
  readonly startedMs: number;
  /** Of its last start; null while it runs, and after a kill. */
  readonly endedMs: number | null;
  /** How often it was started. */
  readonly starts: number;
  /** Newest optimiser step and policy version (as of `at`). */
  readonly step: number | null;
  readonly version: number | null;
  /** Last word of any of its processes. */
  readonly heardMs: number | null;
  /** Where its records lie: `folder`, or a Kafka URL without secrets. */
  readonly log: string;
}

/** The moment that a twin is as of; null in its place = now. */
export interface At {
  readonly step: number;
  readonly version: number;
  readonly atMs: number;
  /** Of the record in `weights`. */
  readonly ref: string;
}

/** The frame of every twin of a run. */
export interface OfRun {
  readonly wire: number;
  readonly nowMs: number;
  readonly run: RunHead;
  readonly at: At | null;
}

/** A text of which only the beginning is given. */
export interface Cut {
  readonly $cut: {
    readonly text: string;
    /** UTF-16 units given, and in all. */
    readonly shown: number;
    readonly total: number;
  };
}

/** Numbers that are packed in the record; the first 32 of them. */
export interface Packed {
  readonly $packed: {
    readonly type: 'int32' | 'float32';
    readonly total: number;
    readonly first: readonly (number | null)[];
  };
}

/** A number that JSON has no word for. */
export interface Odd {
  readonly $number: 'NaN' | 'Infinity' | '-Infinity';
}

/** A record's value or a part of it, safe for JSON: long texts are `Cut`, packed numbers `Packed`; a list cut short ends with `{ $more: n }`. */
export type Shown =
  | string
  | number
  | boolean
  | null
  | Cut
  | Packed
  | Odd
  | { readonly $more: number }
  | readonly Shown[]
  | { readonly [field: string]: Shown };

/** 95 %. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

/* ───────────────────────────────────────────────────────── / */

export interface RunsTwin {
  readonly wire: number;
  readonly nowMs: number;
  /** Version of millrace. */
  readonly millrace: string;
  /** The folder that is watched. */
  readonly folder: string;
  /** How the program is called here (`npx millrace`): commands to copy begin with it. */
  readonly program: string;
  /** Newest first; at most 200. */
  readonly runs: readonly RunRow[];
  readonly total: number;
  /** Folders whose `run.json` cannot be read, and why; at most 20. */
  readonly unreadable: readonly { readonly name: string; readonly why: string }[];
  /** Two commands that make a run; for an empty folder. */
  readonly commands: readonly string[];
}

export interface RunRow extends RunHead {
  /** Newest `reward/mean` (or, where nothing is rewarded, `loss`), its name, and at most 60 points of it. Null/empty until it was read. */
  readonly metric: string | null;
  readonly last: number | null;
  readonly spark: readonly number[];
}

/* ───────────────────────────────────────────────────────── /r/RUN */

export interface OverviewTwin extends OfRun {
  /** Of the stream: begin it with `&since=RUN@CURSOR` (`;` between several runs) to miss nothing. */
  readonly cursor: string;
  /** Records of `metrics` and `weights` that the server has still to read (a very long run was opened just now): curves and steps lack them. */
  readonly behind: number;
  readonly mill: Mill;
  /** The six curves that matter most for this job, ≤ 400 buckets each. Absent metrics are in `absent`. */
  readonly curves: readonly Series[];
  readonly absent: readonly AbsentMetric[];
  /** A few facts to show in order: settings that are not the default, first. */
  readonly settings: readonly SettingRow[];
}

/** A metric that a page would show and the run does not have, and why. */
export interface AbsentMetric {
  readonly name: string;
  /** "first batch needs 8 groups, has 3", "written by the trainer; this job has none". */
  readonly why: string;
}

export interface SettingRow {
  readonly name: string;
  readonly value: Shown;
  /** Where it was given (`--set`, a preset, a file); null = the job's default. */
  readonly from: string | null;
}

/** What every stage does now; also the event `mill`. Of a run that is over or as of `at`: its last word, rates over its whole life. */
export interface Mill {
  readonly run: string;
  readonly atMs: number;
  /** Whether rates are of now (two reports were seen), or of the run's whole life. */
  readonly rates: 'now' | 'life' | 'none';
  /** The bottleneck in one sentence, or what is wrong. */
  readonly health: Health;
  readonly step: number | null;
  readonly version: number | null;
  readonly policyLag: number | null;
  readonly policyLagMax: number | null;
  readonly reward: number | null;
  readonly tokensPerSecond: { readonly generated: number | null; readonly trained: number | null };
  readonly sources: readonly MillSource[];
  /** In the order in which records flow. */
  readonly stages: readonly MillStage[];
  readonly topics: readonly MillTopic[];
  readonly workers: readonly MillWorker[];
  readonly weights: {
    readonly version: number;
    readonly step: number;
    readonly atMs: number;
  } | null;
  /** Of the tool calls since this server follows the run, at most the last 5 minutes; null before the first. */
  readonly tools: {
    readonly perSecond: number;
    readonly failed: number;
    readonly cached: number;
    readonly p95Ms: number | null;
  } | null;
  /** Groups judged and kept in the same time. */
  readonly selection: { readonly judged: number; readonly kept: number } | null;
}

export interface Health {
  readonly level: 'good' | 'note' | 'bad';
  readonly text: string;
  /** The stage that limits the run, where one does. */
  readonly stage: string | null;
}

/**
 * How the time of a stage divides; the four add to one. Mean of its processes.
 * `starved`: nothing in work, it waits for input. `blocked`: all that is in work is finished and waits for the log to take it.
 * `paced`: all that is in work waits for the policy version that it is due. `busy`: the rest.
 */
export interface Shares {
  readonly busy: number;
  readonly starved: number;
  readonly blocked: number;
  readonly paced: number;
}

export interface MillStage {
  readonly name: string;
  readonly from: string;
  /** '' when it writes to no topic. */
  readonly to: string;
  /** Null as of a step: nobody keeps what a stage had done by then, and the numbers below are 0. */
  readonly shares: Shares | null;
  /** Part of `busy` with every place taken. */
  readonly full: number;
  readonly in: number;
  readonly out: number;
  readonly inPerSecond: number;
  readonly outPerSecond: number;
  readonly inflight: number;
  readonly inflightMax: number;
  /** Of those in flight, waiting in open groups. */
  readonly waiting: number;
  /** Records of `from` that it has not settled, and how long they take at its rate; null where it stands. */
  readonly lag: number;
  readonly lagMs: number | null;
  /** How long the oldest record is in work; `isOld` = unusually long. */
  readonly oldestMs: number;
  readonly isOld: boolean;
  /** Processes that run it. */
  readonly processes: number;
}

export interface MillSource {
  readonly name: string;
  readonly to: string;
  readonly items: number;
  readonly perSecond: number;
  readonly done: boolean;
  /** Share of the time that the readers of its topic held it back. */
  readonly held: number;
}

export interface MillTopic {
  readonly name: string;
  readonly about: string;
  readonly records: number;
  /** Null as of a step: nobody keeps how large it was then. */
  readonly bytes: number | null;
  /** Since this server follows the run; null before two looks. */
  readonly perSecond: number | null;
  /** When its newest record was appended; null where it has none or nobody looked. */
  readonly lastMs: number | null;
  /** Unsettled records by reading group. */
  readonly lag: Readonly<Record<string, number>>;
  /** Records a second, one number every 5 s, at most 60 (5 minutes), oldest first. */
  readonly spark: readonly number[];
}

export interface MillWorker {
  readonly worker: string;
  readonly host: string;
  readonly pid: number;
  readonly memoryBytes: number;
  readonly silentMs: number;
  readonly ended: boolean;
}

/* ───────────────────────────────────────────────────────── metrics */

export interface MetricsTwin extends OfRun {
  readonly cursor: string;
  readonly behind: number;
  /** Every name that the run has, by name. */
  readonly names: readonly MetricName[];
  readonly x: 'step' | 'time' | 'tokens';
  /** Those of `m=` (or, without it, the overview's), of this run and then of each of `with=`. */
  readonly series: readonly Series[];
  readonly absent: readonly AbsentMetric[];
  /** Runs of `with=` that there are not. */
  readonly missing: readonly string[];
}

export interface MetricName {
  readonly name: string;
  readonly values: number;
  readonly last: number | null;
  readonly lastStep: number | null;
}

/**
 * One metric in buckets of `width` steps (a power of two; bucket k holds steps k·width … (k+1)·width − 1): they stay where
 * they are as values are appended, and merge in pairs when they become too many. Columns of equal length.
 */
export interface Series {
  readonly run: string;
  readonly name: string;
  readonly width: number;
  /** Ascending, in the unit of `x` (steps, milliseconds since 1970, or tokens trained so far): of the last value in the bucket. */
  readonly x: readonly number[];
  /** First step of the bucket's values. */
  readonly step: readonly number[];
  readonly mean: readonly number[];
  readonly min: readonly number[];
  readonly max: readonly number[];
  readonly count: readonly number[];
  /** Finite values in all buckets given, and of the whole series: "showing 1,600 buckets of 48,210 values". */
  readonly shown: number;
  readonly total: number;
  /** Values that were NaN or infinite, and the steps of the first 100. */
  readonly odd: number;
  readonly oddSteps: readonly number[];
}

/* ───────────────────────────────────────────────────────── topics */

export interface TopicsTwin extends OfRun {
  readonly topics: readonly MillTopic[];
}

export interface TopicTwin extends OfRun {
  readonly topic: MillTopic;
  /** What its key is, in a word: `question id`, `step`, … */
  readonly keyIs: string;
  /** Fields that `where=` knows, for completion. */
  readonly fields: readonly string[];
  readonly dir: 'back' | 'on';
  /** As it was understood; empty for none. */
  readonly where: string;
  readonly rows: readonly TopicRow[];
  readonly unreadable: readonly UnreadableRow[];
  /** Records read for this answer, of those in the topic. */
  readonly scanned: number;
  readonly of: number;
  /** Query of the next answer in the same direction (`offset=…&dir=…`), to be merged into this one; null at the end. */
  readonly next: string | null;
  /** The command that shows the same thing. */
  readonly command: string;
}

export interface TopicRow {
  readonly ref: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string;
  readonly atMs: number;
  readonly bytes: number;
  /** A line about it. */
  readonly line: string;
  readonly value: Shown;
  /** Whether some of it is cut. */
  readonly cut: boolean;
  /** Pages about it: paths without origin. */
  readonly links: readonly { readonly label: string; readonly href: string }[];
}

export interface UnreadableRow {
  readonly ref: string;
  readonly reason: string;
  /** Number of the writer's schema and its first 64 bytes; null where they are damaged. */
  readonly schema: number | null;
  readonly hex: string | null;
}

/* ───────────────────────────────────────────────────────── pareto */

export type ParetoAxis =
  | 'calls'
  | 'correct'
  | 'reward'
  | 'length'
  | 'spreadCalls'
  | 'spreadCorrect';

export interface ParetoTwin extends OfRun {
  /** The round that is shown, and those that there are. */
  readonly round: number | null;
  readonly rounds: readonly number[];
  readonly x: ParetoAxis;
  readonly y: ParetoAxis;
  readonly axes: readonly { readonly name: ParetoAxis; readonly about: string }[];
  /** Columns would be smaller; 8,000 rows of this are 1 MB. */
  readonly points: readonly ParetoPoint[];
  readonly shown: number;
  readonly total: number;
  /** By verdict: `selected`, `dominated`, `crowded`, `uniform`, … */
  readonly verdicts: Readonly<Record<string, number>>;
  /** Why there is none, where there is none. */
  readonly why: string;
}

export interface ParetoPoint {
  readonly question: string;
  /** Of the verdict in `selected` and of the group in `scored`. */
  readonly ref: string;
  readonly scored: string;
  readonly x: number;
  readonly y: number;
  /** From 0 = the best. */
  readonly front: number;
  readonly kept: boolean;
  readonly verdict: string;
  /** Crowding distance; null where it was not computed, -1 for infinite. */
  readonly distance: number | null;
  /** Means over the group. */
  readonly correct: number | null;
  readonly calls: number | null;
  readonly reward: number | null;
}

/* ───────────────────────────────────────────────────────── questions, rollouts */

export interface QuestionFacts {
  readonly id: string;
  readonly text: string | Cut;
  readonly answers: readonly string[];
  readonly source: string;
  readonly ability: string;
}

export interface QuestionTwin extends OfRun {
  readonly question: QuestionFacts;
  /** Each time that it was rolled out, oldest first; at most 64. */
  readonly groups: readonly Group[];
  readonly total: number;
  /** Records read to find them, of those that had to be: fewer where there were too many to search them all. */
  readonly scanned: number;
  readonly of: number;
}

export interface Group {
  readonly phase: string;
  /** Round. */
  readonly round: number;
  /** Oldest policy version in it. */
  readonly version: number | null;
  /** In `scored`; null while it is not scored. */
  readonly scored: string | null;
  /** By index; with parents they are the branch tree (`parent.index`, `parent.offset` in tokens). */
  readonly rollouts: readonly RolloutRow[];
  /** How many the group has in all. */
  readonly size: number;
  readonly verdict: Verdict | null;
  /** The step that was trained on it. */
  readonly batch: { readonly step: number; readonly place: number; readonly ref: string } | null;
}

export interface Verdict {
  readonly ref: string;
  readonly kept: boolean;
  readonly why: string;
  readonly front: number;
  readonly objectives: readonly (number | null)[];
  readonly distance: number | null;
}

export interface RolloutRow {
  /** For `/r/RUN/t/REF`. */
  readonly ref: string;
  readonly id: string;
  readonly index: number;
  readonly question: string;
  /** Rollout that it was branched off, and response tokens that were copied. */
  readonly parent: { readonly index: number; readonly offset: number } | null;
  /** Response tokens, tool results included. */
  readonly tokens: number;
  readonly turns: number;
  readonly toolCalls: number;
  readonly toolErrors: number | null;
  readonly status: 'done' | 'failed' | 'cancelled';
  readonly finish: 'answer' | 'stop' | 'length' | 'callLimit' | 'failed' | 'cancelled';
  readonly reason: string;
  /** Policy versions of its spans, ascending. */
  readonly versions: readonly number[];
  readonly reward: number | null;
  readonly parts: Readonly<Record<string, number>>;
  readonly advantage: number | null;
  /** By the part `raw` of its reward. */
  readonly correct: boolean | null;
  readonly ms: number;
}

/* ───────────────────────────────────────────────────────── /r/RUN/t/ROLLOUT */

export interface TrajectoryTwin extends OfRun {
  readonly rollout: RolloutRow;
  readonly question: QuestionFacts;
  readonly group: Group;
  /** Refs of the neighbours in the group, for `n` and `p`; null at the ends. */
  readonly before: string | null;
  readonly after: string | null;
  /** First rollouts of the neighbouring groups in `scored`, for `N` and `P`. */
  readonly groupBefore: string | null;
  readonly groupAfter: string | null;
  readonly prompt: { readonly tokens: number; readonly text: string | Cut | null };
  readonly turns: readonly Turn[];
  readonly facts: TrajectoryFacts;
  /** Null where the run's tokenizer is not here: then there is one turn with the whole text, and no per-token values. */
  readonly tokens: { readonly href: string; readonly count: number } | null;
  /** Says so where `tokens` is null. */
  readonly tokensWhy: string;
  /** Of the raw record in the topic. */
  readonly record: string;
  readonly command: string;
}

export interface Turn {
  readonly index: number;
  readonly kind: 'policy' | 'tool';
  /** Response tokens [start, end). */
  readonly start: number;
  readonly end: number;
  readonly text: string | Cut;
  readonly version: number;
  /** Step entropy of the turn where the job measures it, in nats; null elsewhere. */
  readonly entropy: number | null;
  /** Mean log-prob a token; null of tool turns. */
  readonly logProb: number | null;
  /** Tag of the tool that was called, or that wrote it. */
  readonly tool: string | null;
  /** Of a tool turn: the calls behind it. */
  readonly calls: readonly Call[];
}

export interface Call {
  readonly ref: string;
  readonly turn: number;
  readonly tool: string;
  readonly input: string | Cut;
  readonly output: string | Cut;
  readonly ok: boolean;
  readonly cached: boolean;
  readonly attempts: number;
  readonly ms: number;
}

export interface TrajectoryFacts {
  readonly seed: number;
  readonly startedMs: number;
  readonly endedMs: number;
  /** Policy versions by token: [start, end) with its version. */
  readonly spans: readonly {
    readonly start: number;
    readonly end: number;
    readonly version: number;
  }[];
  /** The 20 tokens that were least likely, least likely first; empty without a tokenizer. */
  readonly surprises: readonly {
    readonly token: number;
    readonly text: string;
    readonly logProb: number;
  }[];
}

/**
 * `tokens.bin`, little-endian:
 *
 *   0      4 bytes   `MLTK`
 *   4      u32       bytes of the header
 *   8      header    JSON (`TokensHeader`), padded with spaces so that what follows begins at a multiple of 4
 *   …      text      UTF-8 of the response, `textBytes` long, padded with zeros to a multiple of 4
 *   …      u16[n]    UTF-16 units of the text that each token adds (0: the first part of a character; its last part has all)
 *   …      u8[n]     entropy, u8[n] log-prob: value = from + byte × (to − from) / 254; 255 = unknown
 *   …      u8[n]     index into `versions`
 *   …      u8[n]     author: 0 = policy, 1 = tool
 */
export interface TokensHeader {
  readonly wire: number;
  /** n */
  readonly tokens: number;
  readonly textBytes: number;
  /** Entropy is known per turn, where the job measures it, and stands at each of its tokens; null = nowhere. */
  readonly entropy: { readonly from: number; readonly to: number } | null;
  readonly logProb: { readonly from: number; readonly to: number } | null;
  readonly versions: readonly number[];
}

export const TOKENS_MAGIC = 'MLTK';

/* ───────────────────────────────────────────────────────── weights */

export interface WeightsTwin extends OfRun {
  readonly version: number;
  readonly ref: string;
  readonly atMs: number;
  readonly parent: number;
  readonly step: number;
  readonly roundsDone: number;
  readonly uri: string;
  readonly digest: string | null;
  readonly parentDigest: string | null;
  readonly bytes: number;
  /** What is found where it lies: `gone` is no error where older versions are not kept; `changed` is damage. */
  readonly file: {
    readonly kind: 'intact' | 'gone' | 'changed' | 'unchecked';
    /** A few words; empty where there is nothing to say. */
    readonly why: string;
  };
  readonly state: string;
  readonly stateDigest: string | null;
  /** The step that made it: its batch; null for the first. */
  readonly batch: {
    readonly ref: string;
    readonly step: number;
    readonly round: number;
    readonly kind: string;
    readonly groups: readonly { readonly question: string; readonly scored: string }[];
    readonly examples: number;
  } | null;
  /** Numbers of its step. */
  readonly metrics: readonly { readonly name: string; readonly value: number }[];
  /** Rollouts whose first token it sampled: the first 64, and how many were counted among those scanned. */
  readonly rollouts: {
    readonly first: readonly RolloutRow[];
    readonly count: number;
    readonly scanned: number;
    readonly of: number;
  };
  readonly before: number | null;
  readonly after: number | null;
}

/* ───────────────────────────────────────────────────────── diff */

export interface DiffTwin {
  readonly wire: number;
  readonly nowMs: number;
  readonly a: RunHead;
  readonly b: RunHead;
  /** Settings that differ, of so many. */
  readonly settings: readonly { readonly name: string; readonly a: Shown; readonly b: Shown }[];
  readonly settingsTotal: number;
  /** The last complete evaluation of each, paired by question; null where they share no questions. */
  readonly paired: Paired | null;
  /** Why `paired` is null. */
  readonly pairedWhy: string;
  /** Means over the steps of each round. */
  readonly metrics: readonly {
    readonly round: number;
    readonly name: string;
    readonly a: number | null;
    readonly b: number | null;
  }[];
  /** The first record that differs; `pending` while it is being looked for: ask again. */
  readonly parting: Parting;
  readonly command: string;
}

export interface Paired {
  readonly roundA: number;
  readonly roundB: number;
  readonly questions: number;
  /** Questions that only one of the two was asked. */
  readonly onlyA: number;
  readonly onlyB: number;
  readonly figures: readonly PairedFigure[];
  readonly solvedToFailed: number;
  readonly failedToSolved: number;
  /** Questions that flip; at most 500. */
  readonly flips: readonly Flip[];
}

export interface PairedFigure {
  /** `accuracy`, `meanToolCalls`, `tokens`, … */
  readonly name: string;
  readonly a: number;
  readonly b: number;
  /** b − a, 95 %, paired by question. */
  readonly difference: number;
  readonly interval: Interval;
  readonly questions: number;
}

export interface Flip {
  readonly question: string;
  readonly text: string;
  readonly to: 'solved' | 'failed';
  /** Mean of correctness over its rollouts. */
  readonly a: number;
  readonly b: number;
  /** First rollouts of it, for a link each. */
  readonly refA: string | null;
  readonly refB: string | null;
}

export type Parting =
  | { readonly state: 'pending' }
  | { readonly state: 'same'; readonly records: number }
  | { readonly state: 'tooLarge'; readonly records: number; readonly max: number }
  | { readonly state: 'failed'; readonly why: string }
  | {
      readonly state: 'differs';
      readonly topic: string;
      readonly id: string;
      /** Field of the record; empty where only one run has the record. */
      readonly field: string;
      /** Policy version that was newest there; -1 = before any, or not known. */
      readonly version: number;
      readonly a: { readonly ref: string | null; readonly value: Shown } | null;
      readonly b: { readonly ref: string | null; readonly value: Shown } | null;
      /** Of a rollout: the first token that differs. */
      readonly token: {
        readonly index: number;
        readonly a: string | null;
        readonly b: string | null;
        readonly versionA: number | null;
        readonly versionB: number | null;
      } | null;
      /** Records that are the same, by topic. */
      readonly same: Readonly<Record<string, { readonly equal: number; readonly all: number }>>;
    };

/* ───────────────────────────────────────────────────────── replay */

export interface ReplayTwin extends OfRun {
  /** Every step, oldest first; at most 4,096, then every 2nd, 4th, … (the last always). */
  readonly steps: readonly ReplayStep[];
  readonly total: number;
  /** What `replay --verify` found last; null where nobody asked for it. */
  readonly verified: {
    readonly atMs: number;
    readonly ok: boolean;
    readonly records: number;
    readonly text: string;
  } | null;
  readonly commands: readonly { readonly about: string; readonly command: string }[];
}

export interface ReplayStep {
  readonly step: number;
  readonly version: number;
  readonly atMs: number;
  readonly ref: string;
  readonly digest: string | null;
  readonly reward: number | null;
}

/* ───────────────────────────────────────────────────────── the stream */

/**
 * `/stream`: server-sent events; `event:` is a key of this, `data:` its JSON. `id:` (the event's `lastEventId`, written like
 * `since=`) is where the reader stands; a browser sends it again by itself after a break, and the stream goes on from there. A comment line comes
 * every 15 s. A reader that is slow gets the newest state and not all of it; one that takes nothing for 30 s is let go.
 */
export interface StreamEvents {
  /** First, and after every break. */
  readonly hello: Hello;
  /** 1/s, only when something changed. */
  readonly mill: Mill;
  /** 2/s at most: new values of the metrics that were asked for. */
  readonly points: Points;
  /** 1/s, only topics that grew. */
  readonly head: Heads;
  readonly state: StateChange;
  /** With `runs=1`, every 5 s when something changed: the rows that changed. */
  readonly runs: { readonly runs: readonly RunRow[]; readonly gone: readonly string[] };
  /** What was missed is too long to send: read the twins anew. */
  readonly reset: { readonly run: string; readonly why: string };
}

/** Whether this server takes POSTs, and the recomputation that it started last. */
export interface ControlTwin {
  readonly wire: number;
  readonly nowMs: number;
  readonly control: boolean;
  /** Null before the first. */
  readonly job: ControlJob | null;
}

export interface ControlJob {
  readonly run: string;
  readonly kind: 'verify' | 'replay';
  /** As it can be typed. */
  readonly command: string;
  /** The run that a replay makes; null of a verification. */
  readonly into: string | null;
  /** `failed` of a verification: records differ, or it could not be done; the output says which. */
  readonly state: 'running' | 'done' | 'failed';
  /** The newest of what it said, and how many characters were before that. */
  readonly output: string;
  readonly cut: number;
}

export interface ControlSaid {
  readonly said: string;
}

/** What `from` of a replay takes: the first topic that is made anew. */
export const replayFrom = ['rollouts', 'scored', 'selected', 'batches', 'weights'] as const;

export interface Hello {
  readonly wire: number;
  readonly nowMs: number;
  /** Changes with every start of the server. */
  readonly server: string;
  readonly runs: readonly RunHead[];
  /** Runs that were asked for and are not there. */
  readonly missing: readonly string[];
}

export interface Points {
  readonly run: string;
  /** Raw values, in log order: [step, atMs, tokens trained so far, value]; value null = NaN or infinite. */
  readonly series: Readonly<
    Record<string, readonly (readonly [number, number, number, number | null])[]>
  >;
  /** Ticks that were merged into this one since the reader was slow. */
  readonly merged: number;
}

export interface Heads {
  readonly run: string;
  /** Records by topic. */
  readonly ends: Readonly<Record<string, number>>;
}

export interface StateChange {
  readonly run: string;
  readonly atMs: number;
  readonly kind:
    | 'started'
    | 'paused'
    | 'silent'
    | 'resumed'
    | 'finished'
    | 'stopped'
    | 'failed'
    | 'weights'
    | 'deadLetter';
  /** For a live region. */
  readonly text: string;
  readonly head: RunHead;
}

/* ───────────────────────────────────────────────────────── the frozen page */

/**
 * `millrace report`: the same page in one file. Its data is JSON in `<script type="application/json" id="millrace-frozen">`;
 * where that element is there, the client asks nobody: it reads twins here, opens no stream, and says when it was frozen.
 */
export interface Frozen {
  readonly wire: number;
  readonly frozenMs: number;
  /** The page that opens first; after that the fragment (`#/r/RUN/t/812`) says which one. */
  readonly start: string;
  /** By the twin's path with its query exactly as in `frozenKey`. */
  readonly twins: Readonly<Record<string, unknown>>;
  /** `tokens.bin` by path, base64. */
  readonly bins: Readonly<Record<string, string>>;
  /** What is left out, in a sentence; empty for nothing: "200 of 48,210 trajectories". */
  readonly leftOut: string;
}

export const FROZEN_ID = 'millrace-frozen';

/** The element that holds the static report of a frozen page in a shadow root: what there is without a script, and a view with one. */
export const RESULTS_ID = 'millrace-results';

/** Where a twin lies in `Frozen.twins`: its path; of the query only `at`, `round` and `dir`, in this order. */
export function frozenKey(path: string, query: Readonly<Record<string, string>>): string {
  const kept = ['at', 'round', 'dir'].flatMap((name) =>
    query[name] === undefined ? [] : [`${name}=${encodeURIComponent(query[name])}`],
  );
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`;
}
