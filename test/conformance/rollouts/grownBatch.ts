/**
 * A batch of prompts rolled out by `growGroup`, one group a prompt, with what the published loop shares
 * between the prompts of a batch: one stream of draws, one count of consecutive rounds, the order of
 * requests. The same script and result as `runBatch`, which is that loop written out.
 *
 * It gives up with a `Departure` where a script reaches one of these, which `growGroup` does otherwise on
 * purpose (D-006, D-017), so that the published outcome is not to be had from it:
 * - baselines of an earlier batch: here they live within a group;
 * - a call whose opening tag is in an earlier step, a result or the prompt: here a call is read from its own
 *   step;
 * - a generation of nothing that is not its rollout's end: here it is;
 * - a monitored rollout that goes on past its length or the model's context.
 * And it adds what the published loop makes beyond the length of a response, where another one's larger room
 * let it generate on: that changes no rollout, but its calls and its entropy are counted.
 */
import type { Branching } from '../../../operators/sampling/branching.ts';
import { ENTROPY_TOKENS, stepEntropy } from '../../../operators/sampling/stepEntropy.ts';
import { strip } from '../../../operators/text/characters.ts';
import type { Rollout } from '../../../topics/index.ts';
import type { BatchResult, BatchScript, Trajectory } from './batchRollout.ts';
import { type Asked, type Called, Departure, grownGroups, type Origin } from './grownGroups.ts';
import {
  callWithRetry,
  decode,
  END_TOKEN,
  encode,
  firstLogProbs,
  type Generated,
  lastCall,
  noCalls,
  recordCall,
  type ToolMetrics,
} from './scripted.ts';

/** A rollout of the batch: its number in order of creation, and the rounds that were over then. */
interface Numbered {
  readonly number: number;
  readonly round: number;
}

export async function grownBatch(script: BatchScript): Promise<BatchResult> {
  if (script.baselines.size > 0) throw new Departure('baselines of an earlier batch');
  const rounds = new Rounds(script);
  const groups = await grownGroups({
    ...script,
    retryEmpty: true,
    attempt: ({ tool, input }, attempt) => script.attempt(tool, input, attempt),
    branching: (prompt) => rounds.branching(prompt),
    served: (waiting) => rounds.served(waiting),
    generate: (served) => served.map((one) => rounds.made(one)),
    answered: (calls) => rounds.answered(calls),
  });
  const trajectories: Trajectory[] = [];
  const metrics = noCalls();
  for (const [prompt, { rollouts, toolCalls }] of groups.entries()) {
    for (const rollout of rollouts) {
      const one = trajectoryOf(rollout, prompt, script, rounds);
      trajectories[one.number] = one;
      const beyond = rounds.beyond({ prompt, index: rollout.index });
      script.baselines.set(one.number, baselineOf(rollout, beyond));
      if (rollout.finish === 'callLimit') metrics.callLimitReached++;
      callBeyond(rollout, beyond, script, metrics);
    }
    for (const { rolloutId, tool, ok, output: text, attempts } of toolCalls) {
      if (rolloutId.includes('/monitor/')) continue;
      recordCall(metrics, tool, { ok, text, retries: ok ? attempts - 1 : attempts });
    }
  }
  const { activeByRound, maxTokensByRound, initialRollouts } = rounds;
  return { trajectories, metrics, activeByRound, maxTokensByRound, initialRollouts };
}

function trajectoryOf(
  rollout: Rollout,
  prompt: number,
  script: BatchScript,
  rounds: Rounds,
): Trajectory {
  const { index, status, reason, finish, tokens, segments, parent, toolCalls: calls } = rollout;
  if (status === 'failed') throw new Error(reason);
  const { number, round } = rounds.numberOf({ prompt, index });
  const bare = script.prompts[prompt]!;
  // The published loop writes an end token there, in the policy's name.
  const atLimit = finish === 'callLimit';
  return {
    number,
    prompt,
    promptLength: bare.length,
    calls,
    round,
    context: [...bare, ...tokens, ...(atLimit ? [END_TOKEN] : [])],
    mask: [...segments.flatMap(maskOf), ...(atLimit ? [1] : [])],
    kind: parent !== null ? 'clone' : round === 0 ? 'initial' : 'restart',
    parent: parent && rounds.numberOf({ prompt, index: parent.index }).number,
    offset: parent?.offset ?? 0,
  };
}

/** Entropy of the first segment that a rollout made itself. */
function baselineOf({ segments, parent }: Rollout, beyond: Beyond | undefined): number {
  const offset = parent?.offset ?? 0;
  const own = segments.filter(({ kind, start }) => kind === 'policy' && start >= offset);
  if (own.length < 2 && beyond !== undefined) return beyond.entropy;
  return own[0]?.entropy ?? 0;
}

/** Counts the call that only the published loop makes. */
function callBeyond(
  { toolCalls: calls }: Rollout,
  beyond: Beyond | undefined,
  { attempt, attemptsMax, callLimit }: BatchScript,
  metrics: ToolMetrics,
): void {
  if (!beyond?.call) return;
  const { tool, input } = beyond.call;
  if (calls >= callLimit) metrics.callLimitReached++;
  else if (input !== '') {
    recordCall(metrics, tool, callWithRetry(attempt, tool, input, attemptsMax));
  }
}

function maskOf({ kind, start, end }: { kind: string; start: number; end: number }): number[] {
  return Array.from({ length: end - start }, () => (kind === 'policy' ? 1 : 0));
}

/** A generation that only the published loop makes whole. */
interface Beyond {
  readonly entropy: number;
  readonly call: { readonly tool: string; readonly input: string } | null;
}

/** How a batch's rounds go: who is served when, with how much room, and who grew. */
class Rounds {
  readonly activeByRound: number[][] = [];
  readonly maxTokensByRound: number[] = [];
  readonly initialRollouts: number[];
  readonly #script: BatchScript;
  readonly #numbers = new Map<string, Numbered>();
  #consecutive: readonly number[];
  /** The round, in order; what each is given; those of it who are held; the turns of its groups, to come. */
  #served: readonly Asked[] = [];
  readonly #made = new Map<Asked, Generated>();
  #held: readonly Asked[] = [];
  #turns: { readonly held: readonly Asked[]; readonly calls: readonly Called[] }[] = [];
  /** The response that each then has. */
  readonly #responses = new Map<string, number>();
  /** Where the step of each began: after its prompt or last result. */
  readonly #steps = new Map<string, number>();
  readonly #beyond = new Map<string, Beyond>();
  /** What the published loop lets each of them generate: as much as the one with the most room. */
  #shared = 0;

  constructor(script: BatchScript) {
    this.#script = script;
    this.#consecutive = script.prompts.map(() => 0);
    this.initialRollouts = script.prompts.map(() =>
      Math.min(script.initialRollouts, script.samples),
    );
  }

  numberOf(origin: Pick<Origin, 'prompt' | 'index'>): Numbered {
    return this.#numbers.get(nameOf(origin))!;
  }

  /** What the published loop generates beyond the length of a response, if anything. */
  beyond(origin: Pick<Origin, 'prompt' | 'index'>): Beyond | undefined {
    return this.#beyond.get(nameOf(origin));
  }

  /** The script's policy, with its draws; given the batch's count, or growGroup's own. */
  branching(prompt: number): Branching {
    const { branching, beamSize, draw, counts, monitor, samples } = this.#script;
    const split = branching.initialRollouts;
    return {
      ...branching,
      beamSize,
      initialRollouts:
        monitor === undefined || typeof split === 'number'
          ? this.initialRollouts[prompt]!
          : (n, root, segments) => {
              this.initialRollouts[prompt] = Math.min(samples, split(n, root, segments));
              return this.initialRollouts[prompt]!;
            },
      decide: (change, _, own) =>
        branching.decide(change, draw(), counts === 'group' ? own : this.#consecutive[prompt]!),
    };
  }

  /** All of the next round, but those who go on without a call: they draw when their group's turn comes. */
  served(waiting: readonly Asked[]): readonly Asked[] {
    if (this.#turns.length > 0) return this.#turns[0]!.held;
    const byPrompt = waiting.toSorted((a, b) => a.prompt - b.prompt || a.index - b.index);
    const first = (of: Origin['of']) => byPrompt.filter((one) => one.of === of);
    const looked = [first('question'), first('monitor')].find((some) => some.length > 0);
    this.#served = looked ?? this.#round(byPrompt);
    this.#shared = this.#sharedLimit();
    if (looked === undefined) this.maxTokensByRound.push(this.#shared);
    for (const one of this.#served) this.#made.set(one, this.#generate(one));
    this.#held = looked === undefined ? this.#served.filter((one) => this.#isShort(one)) : [];
    return this.#served.filter((one) => !this.#held.includes(one));
  }

  #sharedLimit(): number {
    const { responseLength, monitor } = this.#script;
    const [first] = this.#served;
    if (first!.of === 'question') return monitor!.initialEntropyTokens;
    if (first!.of === 'rollout') return Math.max(1, ...this.#served.map(({ room }) => room));
    const lengths = this.#served.map(({ context }) => context.length);
    const used = this.#served.map(({ context, promptLength }) => context.length - promptLength);
    const left = monitor!.maxModelLen - Math.max(...lengths);
    if (left <= 0) throw new Departure('a monitored rollout past the context');
    return Math.max(1, Math.min(responseLength - Math.max(...used), left));
  }

  #isShort(one: Asked): boolean {
    const { finish, tokens } = this.made(one);
    return finish === 'length' && tokens.length < one.room;
  }

  made(one: Asked): Generated {
    return this.#made.get(one)!;
  }

  /** Survivors in their order, then clones, prompts in order of their first survivor, then fresh ones. */
  #round(waiting: readonly Asked[]): Asked[] {
    const isNew = (one: Asked) => !this.#numbers.has(nameOf(one));
    const survivors = waiting
      .filter((one) => !isNew(one))
      .sort((a, b) => this.numberOf(a).number - this.numberOf(b).number);
    const joined = waiting.filter(isNew);
    const clones = joined.filter(({ context, promptLength }) => context.length > promptLength);
    const prompts = [...new Set(survivors.map(({ prompt }) => prompt))];
    clones.sort(
      (a, b) => prompts.indexOf(a.prompt) - prompts.indexOf(b.prompt) || a.index - b.index,
    );
    const fresh = joined.filter((one) => !clones.includes(one));
    const round = this.activeByRound.length;
    for (const clone of clones) {
      // Its source goes on from the same place.
      const source = survivors.find((one) => String(one.context) === String(clone.context))!;
      this.#steps.set(nameOf(clone), this.#steps.get(nameOf(source)) ?? clone.promptLength);
    }
    for (const one of [...clones, ...fresh]) {
      this.#numbers.set(nameOf(one), { number: this.#numbers.size, round });
    }
    const grew = this.#script.prompts.map((_, prompt) =>
      joined.some((one) => one.prompt === prompt),
    );
    // As published: a round in which none grew leaves the counts.
    if (round > 0 && grew.includes(true)) {
      this.#consecutive = this.#consecutive.map((count, prompt) => (grew[prompt] ? count + 1 : 0));
    }
    const active = [...survivors, ...clones, ...fresh];
    this.activeByRound.push(active.map((one) => this.numberOf(one).number));
    return active;
  }

  #generate(one: Asked): Generated {
    const number = one.of === 'rollout' ? this.numberOf(one).number : -1;
    const made = this.#script.generate({ number, context: one.context }, this.#shared);
    const tokens = made.tokens.slice(0, one.room);
    // It is looked at once, however little it says.
    if (one.of === 'question') return { ...made, tokens, finish: 'stop', stop: null };
    if (tokens.length === 0 && (made.finish === 'length' || made.stop !== null)) {
      throw new Departure('a generation of nothing');
    }
    const call = this.#callOf(one, made);
    const response = one.context.length - one.promptLength;
    this.#responses.set(nameOf(one), response + tokens.length);
    if (tokens.length === made.tokens.length) return made;
    const entropy = stepEntropy(firstLogProbs(made, ENTROPY_TOKENS), this.#script.vocabSize);
    this.#beyond.set(nameOf(one), { entropy, call });
    return { ...made, tokens, finish: 'length', stop: null };
  }

  #callOf(one: Asked, made: Generated): Beyond['call'] {
    const tool = this.#script.tags.find((tag) => made.stop === `</${tag}>`);
    if (tool === undefined) return null;
    const begin = this.#steps.get(nameOf(one)) ?? one.promptLength;
    const whole = [...one.context, ...made.tokens];
    const input = strip(lastCall(decode(whole), tool));
    const own = strip(lastCall(decode(whole.slice(begin)), tool));
    if (own !== input) throw new Departure('a call whose opening tag is elsewhere');
    return { tool, input };
  }

  /** The calls of the group whose turn it is: groups draw in order of their first rollout that goes on. */
  answered(calls: readonly Called[]): readonly Called[] {
    if (this.#turns.length > 0) return this.#turns.shift()!.calls;
    const names = this.#served.map(nameOf);
    const rank = (one: Asked | Called) => names.indexOf(nameOf(one));
    const goingOn = [...this.#held, ...calls.filter((call) => this.#goesOn(call))];
    goingOn.sort((a, b) => rank(a) - rank(b));
    const prompts = new Set([...goingOn, ...calls].map(({ prompt }) => prompt));
    this.#turns = Array.from(prompts, (prompt) => ({
      held: this.#held.filter((one) => one.prompt === prompt),
      calls: calls.filter((call) => call.prompt === prompt),
    }));
    return [];
  }

  #goesOn(call: Called): boolean {
    const { attempt, attemptsMax, responseLength, monitor, prompts } = this.#script;
    const { text } = callWithRetry(attempt, call.tool, call.input, attemptsMax);
    const block = encode(` <result>\n${text}\n</result>`).length;
    const response = this.#responses.get(nameOf(call))! + block;
    this.#steps.set(nameOf(call), prompts[call.prompt]!.length + response);
    if (call.of === 'rollout') return response < responseLength;
    const context = prompts[call.prompt]!.length + response;
    if (response >= responseLength || context > monitor!.maxModelLen) {
      throw new Departure('a monitored rollout past its length');
    }
    return true;
  }
}

function nameOf({ prompt, of = 'rollout', index }: Partial<Origin>): string {
  return `${of}/${prompt}/${index}`;
}
