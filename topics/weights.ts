/** `weights`: manifests of the policy's weights; tensors stay in files. */

import {
  formerly,
  named,
  nullable,
  record,
  text,
  type ValueOf,
  whole,
  withDefault,
} from '../streams/contracts/index.ts';
import { type Position, position } from '../streams/index.ts';
import { batches } from './batches.ts';
import { defineRunTopic } from './defineRunTopic.ts';

export const weights = record('Weights', {
  version: whole,
  /** -1 for the first version. */
  parent: whole,
  step: whole,
  /** Rounds finished with this version. */
  roundsDone: whole,
  /** What engines load. A path without a scheme is relative to the run folder. */
  uri: formerly('file', text),
  /** SHA-256 of the file or folder there; null if its kind has none. */
  digest: formerly('sha256', nullable(text)),
  bytes: whole,
  /** What training continues from (the optimiser's state), written like `uri`; empty if there is none. */
  state: formerly('optimiser', text),
  /** How far the trainer had read: position in `batches` of the step that made it; null for the first. */
  consumed: nullable(named<Position>(position)),
  /** Digest of the state; null if there is none, or if the manifest is older than version 2 of its topic. */
  stateDigest: withDefault(nullable(text), null),
  /** `digest` of the parent's manifest; null for the first, and in manifests of version 1. */
  parentDigest: withDefault(nullable(text), null),
  /** How many `set` records of the `control` topic, from the first on, apply to what is due this version. */
  controls: withDefault(whole, 0),
});
/**
 * A manifest of weights. Tensors are never in the topic (claim check): the manifest says where they are, in
 * words that only the kind of engine that wrote them reads (`Checkpoint` in model/engine.ts).
 */
export interface Weights extends ValueOf<typeof weights> {}

export const manifests = defineRunTopic<Weights>({
  name: 'weights',
  about: 'Weight manifests. The trainer writes it; the rollout engines read it.',
  shape: weights,
  key: (value) => String(value.version),
  version: 3,
  onePartition: true,
  identity: ({ version }) => String(version),
  moment: ({ parent }) => parent,
  references: ({ consumed }) =>
    consumed === null ? [] : [{ field: 'consumed', topic: batches, position: consumed }],
  added: ['stateDigest', 'parentDigest'],
  named: ['uri', 'state'],
  keyName: 'version',
  line: ({ version, step, bytes }) => `version ${version} of step ${step}, ${bytes} bytes`,
  links: ({ version }) => [{ label: `weights ${version}`, path: `weights/${version}` }],
});
