/**
 * How fast recorded rollouts come back to be scored again, as `millrace replay --from scored` reads them (an
 * index of all places, then group by group, with a reward), compared with reading the same topic once in
 * order.
 */
import { lastValueFrom } from 'rxjs';
import { RecordedGroups } from '../../jobs/replay/recordedGroups.ts';
import { accuracy } from '../../operators/rewards/accuracy.ts';
import { openLog } from '../../streams/embedded/openLog.ts';
import { question, rollout } from '../../test/support/records.ts';
import { type Question, type Rollout, topics } from '../../topics/index.ts';
import { type Row, recordsPerSecond, timeMs } from '../table.ts';

const GROUPS = 250;
const ROLLOUTS = 8;
const TOKENS = 2_000;
const TURNS = 7;
/** Of the log's raw sequential rate. */
const GOAL = 0.5;

const asked = Array.from({ length: GROUPS }, (_, i): Question => question({ id: `q${i}` }));

/** A trajectory of 17 KB. */
function trajectory(of: Question, index: number): Rollout {
  return rollout({
    id: `${of.id}/explore-0/${index}`,
    question: of,
    index,
    groupSize: ROLLOUTS,
    tokens: Int32Array.from({ length: TOKENS }, (_, i) => i * 7),
    logProbs: Float32Array.from({ length: TOKENS }, (_, i) => -i / TOKENS),
    text: `<think>${'so it goes '.repeat(80)}</think><answer>\\boxed{7}</answer>`,
  });
}

export async function replayRow(folder: string): Promise<Row> {
  const log = await openLog({ folder, mode: 'write' });
  const reward = accuracy('match');
  try {
    for (const of of asked) {
      await log.commit((tx) => {
        for (let i = 0; i < ROLLOUTS; i++) tx.append(topics.rollouts, trajectory(of, i));
      });
    }
    const standing = await log.standing!();
    const [ours, theirs]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < TURNS; turn++) {
      ours.push(
        await timeMs(async () => {
          const groups = await RecordedGroups.of(log, standing);
          for (const of of asked) {
            const { rollouts } = await groups.get(of);
            const texts = rollouts.map(({ text }) => text);
            const lengths = rollouts.map(({ tokens }) => tokens.length);
            await reward({
              question: of,
              tools: ['search'],
              texts,
              lengths,
              policyLengths: lengths,
            });
          }
        }),
      );
      const all = { from: { kind: 'earliest' }, follow: false } as const;
      theirs.push(await timeMs(() => lastValueFrom(log.tap(topics.rollouts, all))));
    }
    const row = { what: 'rollouts scored again, 17 KB', against: 'read in order', goal: GOAL };
    return recordsPerSecond(row, GROUPS * ROLLOUTS, ours, theirs);
  } finally {
    await log.close();
  }
}
