/** Engine, trainer and tools of one process of a simulated run. */
import { draws } from '../../base/index.ts';
import { simulatedCritic } from './critic.ts';
import type { Disk } from './disk.ts';
import { type EngineOptions, simulatedEngine } from './engine.ts';
import type { WorldParts } from './job.ts';
import { Life } from './life.ts';
import { SimulatedServer } from './servers.ts';
import type { Shape } from './shape.ts';
import { simulatedTools, type ToolsOptions } from './tools.ts';
import { simulatedTrainer } from './trainer.ts';
import type { VirtualClock } from './virtualClock.ts';

/** The state of their surroundings, and who observes. */
export interface Surroundings {
  readonly life: Life;
  readonly disk: Disk;
  /** Of the world. */
  readonly clock: VirtualClock;
  readonly servers: readonly SimulatedServer[];
  readonly weather: EngineOptions['weather'];
  readonly toolWeather: ToolsOptions['weather'];
  readonly busy: EngineOptions['busy'];
  readonly lateAnswer: ToolsOptions['late'];
  readonly broken: ToolsOptions['broken'];
}

export function partsIn(shape: Shape, surroundings: Surroundings): WorldParts {
  const { life, disk, clock, servers, weather, toolWeather, busy, broken } = surroundings;
  const { lateAnswer: late } = surroundings;
  const { seed, tokenMs, toolMs, stepMs, swap } = shape;
  const chance = draws('world', seed);
  return {
    engine: simulatedEngine({
      ...{ life, clock, servers, tokenMs, swap, weather, busy, broken },
      draws: chance.under('replies', life.name),
    }),
    clock: life.clock,
    critic: simulatedCritic(life, chance.under('critic'), 4 * tokenMs),
    trainer: simulatedTrainer({ life, disk, stepMs, draws: chance.under('trainer') }),
    tools: simulatedTools({
      ...{ life, clock, toolMs, late, broken, weather: toolWeather },
      draws: chance.under('tools', life.name),
    }),
  };
}

/** Surroundings in which nothing goes wrong. */
export function calmParts(
  shape: Shape,
  { clock, disk }: { readonly clock: VirtualClock; readonly disk: Disk },
): WorldParts {
  const life = new Life({
    ...{ name: 'calm', clock, aheadMs: () => 0, stillUntilMs: () => 0, passed: () => undefined },
  });
  return partsIn(shape, {
    ...{ life, disk, clock, servers: serversOf(shape, disk), ...CALM },
    ...{ busy: () => undefined, broken: () => undefined },
  });
}

/** Nothing is unavailable or slow. */
export const CALM: Pick<Surroundings, 'weather' | 'toolWeather' | 'lateAnswer'> = {
  weather: () => ({ lost: 0, late: 0, away: false }),
  toolWeather: () => ({ hang: 0, overdue: 0, down: false }),
  lateAnswer: () => undefined,
};

/** The servers of one process. */
export function serversOf({ servers }: Shape, disk: Disk): readonly SimulatedServer[] {
  return Array.from({ length: servers }, () => new SimulatedServer(disk));
}
