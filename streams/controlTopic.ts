/** `control`: commands to a running job. */
import { defineTopic } from './contracts/defineTopic.ts';
import { choice, real, record, text, type ValueOf } from './contracts/shapes.ts';

const controlKind = choice('ControlKind', ['set', 'pause', 'resume', 'stop']);
/** A command to a run: change a setting, begin nothing new, go on, stop gracefully. */
export type ControlKind = ValueOf<typeof controlKind>;

export const control = record('Control', {
  /** Identifies the request: one that is delivered twice is written once. */
  id: text,
  kind: controlKind,
  /** For `set`: the setting, and its value as JSON; otherwise empty. */
  setting: text,
  value: text,
  /** Who asked: user and host. */
  by: text,
  askedMs: real,
});
/** A command to a running job. The manifests (`controls`) say from which step a setting applies. */
export interface ControlRecord extends ValueOf<typeof control> {}

/** Commands to a running run. */
export const controlTopic = defineTopic<ControlRecord>({
  name: 'control',
  about:
    'Commands given during the run: settings, pause, resume, stop. `millrace set` and similar commands write it; the run reads it.',
  shape: control,
  key: (value) => value.id,
  onePartition: true,
  moment: () => -1,
});
