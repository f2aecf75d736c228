/**
 * Whether the rollouts of a step were made by the weights that the step starts from, as their records say:
 * the trainer recomputes the log-prob of every token that it trains on, and with the same weights only
 * rounding separates the two (model/agreement.ts).
 *
 * Labels and digests say what a server was given; this says what it answered with. Rollouts of older versions
 * are not checked.
 */
import { MillraceError } from '../../base/index.ts';
import { Agreement, type AgreementRule, type StepReport } from '../../model/index.ts';
import { type Log, recordsOf } from '../../streams/index.ts';
import { type Batch, topics } from '../../topics/index.ts';
import type { BatchSequence } from './prepared.ts';

const MEAN = 'logprob/diff_mean';

export class SamplerCheck {
  readonly #agreement: Agreement | null;
  readonly #log: Log;
  #begun = false;
  #refused = 0;

  /** `rule: null` = every step is trained. */
  constructor(rule: AgreementRule | null, log: Log) {
    this.#agreement = rule === null ? null : new Agreement(rule);
    this.#log = log;
  }

  /**
   * Whether a batch must not be trained, by its first optimiser step, which is then taken back. Fails with
   * code `WEIGHTS_WRONG` at the second one in a row: weights were published again between the two.
   */
  async refuses(
    { step, version }: Batch,
    sequences: readonly BatchSequence[],
    { numbers }: StepReport,
  ): Promise<boolean> {
    const agreement = this.#agreement;
    const apart = numbers[MEAN];
    if (agreement === null || apart === undefined || sequences.some(({ lags }) => lags))
      return false;
    if (!this.#begun) await this.#begin(agreement);
    if (apart <= agreement.meanMax) {
      agreement.measured(apart);
      this.#refused = 0;
      return false;
    }
    if (++this.#refused === 1) return true;
    throw new MillraceError(
      'WEIGHTS_WRONG',
      `the rollouts of step ${step} do not come from version ${version} of the policy: the engine's log-probs differ from those ` +
        `of the trainer by ${apart.toPrecision(2)} nats per token (allowed: ${agreement.meanMax.toPrecision(2)}: ${agreement.reason}). ` +
        'The previous step had the same problem; it was skipped, and the weights were published again. Make sure that the engine has the same ' +
        'base model, reads the same disk, and gets no weights from elsewhere',
      { context: { step, version, apart, allowed: agreement.meanMax } },
    );
  }

  /** After a restart the bound is that of the first steps. */
  async #begin(agreement: Agreement): Promise<void> {
    this.#begun = true;
    let lag = 0;
    for await (const { value } of recordsOf(this.#log, topics.metrics, {
      from: { kind: 'earliest' },
    })) {
      if (value.name === 'policy/lag') lag = value.value;
      if (value.name !== MEAN || lag > 0 || !(value.value <= agreement.meanMax)) continue;
      agreement.measured(value.value);
      return;
    }
  }
}
