/** The branching policies by the names that settings give them. */
import { aepo } from '../operators/sampling/aepo.ts';
import { arpo } from '../operators/sampling/arpo.ts';
import type { Branching } from '../operators/sampling/branching.ts';
import type { CalibrateSettings } from './calibrateSettings.ts';

/** `none` = independent rollouts. */
export const branchings: Record<
  CalibrateSettings['branching'],
  (settings: CalibrateSettings) => Branching | null
> = { arpo, aepo, none: () => null };
