/**
 * `ownAttempts`: demonstrations out of what a policy gets right by itself, helped to its first calls: several
 * attempts at a question under safer sampling, after examples, some with the call already opened. Those that
 * call a tool and are right, by rule, go on to fine-tuning (`finetune`), which learns them without the help.
 *
 *     questions ─► attempts (evolve) ─► filter ─► demonstrations
 */
import { pipe } from 'rxjs';
import { z } from 'zod';
import { samplingSettings } from '../model/text/index.ts';
import { afterExamples, coldStartPool, openedCall } from '../operators/coldStart/index.ts';
import { resultBlock } from '../operators/dialect/index.ts';
import { demonstrations, evolve } from '../operators/index.ts';
import { flow, stage } from '../streams/index.ts';
import { type Evolved, topics } from '../topics/index.ts';
import type { Method } from './method.ts';
import { inflightFor, inPhase } from './policyLoop.ts';
import { positiveInt } from './policySettings.ts';
import { policyRole } from './roles.ts';

/** The settings of `ownAttempts` as a zod schema. */
export const ownAttemptsSettings = z.object({
  questions: positiveInt.default(256).describe('questions to try'),
  attempts: positiveInt.default(8).describe('attempts per question'),
  opened: z
    .number()
    .min(0)
    .max(1)
    .default(0.5)
    .describe('share of attempts that begin with an opened call (with dialect tags)'),
  examples: z
    .boolean()
    .default(true)
    .describe('whether the prompt of an attempt has an example of each tool, python and search'),
  ...samplingSettings,
  temperature: samplingSettings.temperature.default(0.7),
  topP: samplingSettings.topP.default(0.95),
  callLimit: positiveInt.default(4).describe('maximum calls of each tool per attempt'),
  perQuestion: positiveInt.default(1).describe('maximum demonstrations kept per question'),
  prefer: z
    .enum(['fewestCalls', 'shortest'])
    .default('fewestCalls')
    .describe('which demonstrations to keep if there are more'),
  callsMax: positiveInt.default(8).describe('maximum tool calls per demonstration'),
  concurrency: positiveInt.default(24).describe('questions tried concurrently'),
});

/** The settings of `ownAttempts`, with all defaults filled in. */
export type OwnAttemptsSettings = z.infer<typeof ownAttemptsSettings>;

/** Learning to call is the point. */
const onlyWithCall = () => ({
  difficulty: '',
  against: ({ toolCalls }: Evolved) => (toolCalls === 0 ? 'no call' : null),
});

/** Tries the first training questions, with at most `responseMax` tokens; `finetune` learns what is kept. */
export function ownAttempts(settings: OwnAttemptsSettings, responseMax: number): Method {
  return ({ train, seed }) => ({
    rounds: [
      {
        name: 'fine-tuning',
        phase: 'evolve',
        count: Math.min(settings.questions, train),
        skip: 0,
      },
    ],
    loop: {},
    wire: ({ begun, gate, parts, context }) => {
      const { tools, dialect } = parts;
      const { attempts, opened, examples, concurrency } = settings;
      const open = openedCall(tools.tags);
      // Only tags can be opened as text.
      const openedMax = dialect.piece === undefined ? Math.round(opened * attempts) : 0;
      const trying = evolve({
        models: policyRole({ ...settings, responseMax })(parts),
        tools,
        gate,
        seed,
        recorded: context.replay?.unanswered,
        resultBlock,
        markers: dialect.tokenizer.markers ?? [],
        grow: coldStartPool({
          direct: 0,
          tools: attempts,
          hints: null,
          begin: (question, number) => (number < openedMax ? open(question) : ''),
          ...(examples ? { ask: { tools: afterExamples(tools.tags) } } : {}),
        }),
        quotas: settings.callLimit,
        rounds: 0,
        concurrency,
      });
      const filtering = demonstrations({
        ...settings,
        tools,
        formatFault: dialect.formatFault,
        ...(tools.tags.length === 0 ? {} : { find: onlyWithCall }),
        openMax: concurrency,
      });
      const room = inflightFor(concurrency * attempts);
      return flow(
        begun,
        stage('attempts', topics.questions, topics.evolved, pipe(inPhase('evolve'), trying)),
        stage('filter', topics.evolved, topics.demonstrations, filtering, room),
      );
    },
  });
}
