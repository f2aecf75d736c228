/**
 * Settings that may change during a run, and the version from which they apply.
 *
 * Step k begins with version k - 1, and its rollouts may be `lagMax` versions older. So the settings that a
 * question is asked, scored, chosen and trained with are those in the manifest of the version `lagMax` before
 * the one that it is due (`Weights.controls`): every process can know them before the question is asked, and
 * a replay that reads the same manifests gets the same ones. The trainer decides: each manifest that it
 * writes counts the changes known by then, so a change applies from the step `lagMax + 2` after the version
 * that was newest when it came, and never within a step.
 *
 * Made in two steps, as a feedback is: methods take `of` when they are planned, the loop binds it when it is
 * opened.
 */
import { filter, firstValueFrom, map, type Observable, Subject, type Subscription } from 'rxjs';
import type { z } from 'zod';
import { MillraceError, raceAbort } from '../base/index.ts';
import type { Changes, Control } from '../streams/index.ts';
import {
  decidedBy,
  type Question,
  type StepSizes,
  type VersionProgress,
  versionDue,
  type Weights,
} from '../topics/index.ts';

/**
 * Why changing one of these settings would do nothing, given the run's settings; null if it does something.
 */
export type Idle = (settings: Readonly<Record<string, unknown>>) => string | null;

/**
 * Marks a setting that may change during a run: `millrace set` accepts no other, and none for which `idle`
 * gives a reason.
 */
export function mayChange<Schema extends z.ZodType>(schema: Schema, idle?: Idle): Schema {
  return schema.meta({ live: true, ...(idle && { idle }) }) as Schema;
}

/** The settings that differ from the run's first ones. */
export interface LiveSettings {
  /** For what is due this version. */
  at(version: number): Changes;
  /** For a question, whose rollouts and steps are due one version. */
  of(question: Question): Changes;
  /** Resolves once `at`, or `of`, is known. */
  ready(due: number | Question, signal: AbortSignal): Promise<void>;
}

/** What the loop knows about the run: its manifests, its step sizes, its lag. */
export interface LiveBinding extends StepSizes {
  /** Every manifest of the run, oldest first. */
  readonly weights$: Observable<Weights>;
  readonly lagMax: number;
}

/** Settings that change, before and after the loop is open; `bind` is the loop's to call. */
export class LiveHandle implements LiveSettings {
  readonly #control: Control | undefined;
  #binding: LiveBinding | null = null;
  #subscription: Subscription | null = null;
  /** The first version after each round. */
  readonly #known: VersionProgress[] = [];
  /** The first version with each count of changes. */
  readonly #counts: Pick<Weights, 'version' | 'controls'>[] = [];
  #newest = -1;
  readonly #news = new Subject<void>();

  /** `control` undefined = nothing ever changes. */
  constructor(control: Control | undefined) {
    this.#control = control;
  }

  bind(binding: LiveBinding): void {
    this.#binding = binding;
    if (this.#control === undefined) return;
    this.#subscription = binding.weights$.subscribe({
      next: ({ version, roundsDone, controls }) => {
        if (this.#known.at(-1)?.roundsDone !== roundsDone)
          this.#known.push({ version, roundsDone });
        if (this.#counts.at(-1)?.controls !== controls) this.#counts.push({ version, controls });
        this.#newest = version;
        this.#news.next();
      },
      error: (error) => this.#news.error(error),
    });
  }

  at(version: number): Changes {
    if (this.#control === undefined) return NONE;
    const count = this.#countAt(version);
    if (count === null) throw notYet(`version ${version}`);
    return this.#control.changes(count);
  }

  of(question: Question): Changes {
    if (this.#control === undefined) return NONE;
    const due = this.#dueOf(question);
    if (due === null) throw notYet(`question ${question.id}`);
    return this.at(due);
  }

  async ready(due: number | Question, signal: AbortSignal): Promise<void> {
    if (this.#control === undefined) return;
    const countNow = (): number | null => {
      const version = typeof due === 'number' ? due : this.#dueOf(due);
      return version === null ? null : this.#countAt(version);
    };
    const counts$ = this.#news.pipe(
      map(countNow),
      filter((count) => count !== null),
    );
    const count = countNow() ?? (await raceAbort(firstValueFrom(counts$), signal));
    await this.#control.known(count, signal);
  }

  async close(): Promise<void> {
    this.#subscription?.unsubscribe();
  }

  #dueOf(question: Question): number | null {
    if (this.#binding === null) throw new Error('live settings were read before the loop was open');
    return versionDue(question, this.#known, this.#binding);
  }

  /** Changes that apply to what is due a version; null while its manifest is unknown. Versions rise. */
  #countAt(version: number): number | null {
    const { lagMax } = this.#binding!;
    const deciding = decidedBy(version, lagMax);
    if (deciding > this.#newest) return null;
    return this.#counts.findLast((from) => from.version <= deciding)?.controls ?? null;
  }
}

const NONE: Changes = {};

function notYet(what: string): MillraceError {
  return new MillraceError(
    'NOT_READY',
    `the settings of ${what} are not known yet: await live.ready(…) first`,
  );
}
