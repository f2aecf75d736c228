/** Which phase a stage belongs to, which phases are finished, and what rounds are called. */
import { describe, expect, test } from '@jest/globals';
import { phasesOf, Trained } from '../../../../page/server/run/phases.ts';
import { roundsOf } from '../../../../page/server/run/rounds.ts';

const stage = (name: string, from: string, to: string, inflight = 0) => {
  return { name, from, to, inflight };
};
const tuning = [
  stage('evolve', 'questions', 'evolved'),
  stage('filter', 'evolved', 'demonstrations'),
  stage('lessons', 'demonstrations', 'batches'),
];
const rolling = [stage('rollout', 'questions', 'rollouts'), stage('score', 'rollouts', 'scored')];
const trainer = stage('trainer', 'batches', 'weights');
const measuring = [stage('measure', 'scored', 'metrics'), stage('files', 'metrics', '')];
const etAgent = [
  ...tuning,
  ...rolling,
  stage('pareto', 'scored', 'selected'),
  stage('practice', 'selected', 'rollouts'),
  stage('batch', 'scored', 'batches'),
  trainer,
  ...measuring,
];
const pairing = [stage('pairs', 'scored', 'pairs'), stage('preferences', 'pairs', 'batches')];
const none = (): number => 0;

describe('the phase of a stage', () => {
  test('follows from its topics; the trainer serves all', () => {
    expect(phasesOf(etAgent)).toEqual([
      ...['Fine-tuning', 'Fine-tuning', 'Fine-tuning', 'RL', 'RL', 'RL', 'RL', 'RL', ''],
      ...['Measurement', 'Measurement'],
    ]);
  });

  test('of rollouts is what is made of them', () => {
    expect(phasesOf([...rolling, ...pairing, trainer])).toEqual([
      ...['Preferences', 'Preferences', 'Preferences', 'Preferences', ''],
    ]);
    expect(phasesOf([...rolling, ...measuring])).toEqual(['', '', 'Measurement', 'Measurement']);
  });

  test('is none in a job with topics of its own', () => {
    expect(phasesOf([stage('ship', 'orders', 'shipped')])).toEqual(['']);
  });
});

describe('a phase is finished', () => {
  test('when the policy has learned it and nothing of it is in work, but not before', () => {
    const trained = new Trained();
    expect([...trained.finished(etAgent, none)]).toEqual([]);
    trained.metric({ name: 'examples', round: 1 });
    trained.weights({ roundsDone: 0 });
    expect([...trained.finished(etAgent, none)]).toEqual([]);
    trained.weights({ roundsDone: 1 });
    const busy = [stage('evolve', 'questions', 'evolved', 3), ...etAgent.slice(1)];
    expect([...trained.finished(busy, none)]).toEqual([]);
    expect([...trained.finished(etAgent, none)]).toEqual(['Fine-tuning']);
    // RL goes on from round to round.
    trained.metric({ name: 'reward/mean', round: 2 });
    trained.weights({ roundsDone: 2 });
    expect([...trained.finished(etAgent, none)]).toEqual(['Fine-tuning']);
  });

  test('until its turn comes again', () => {
    const stages = [...etAgent, ...pairing];
    const trained = new Trained();
    trained.metric({ name: 'reward/mean', round: 1 });
    trained.metric({ name: 'examples', round: 2 });
    trained.weights({ roundsDone: 1 });
    expect([...trained.finished(stages, () => 5)]).toEqual(['Fine-tuning', 'RL']);
    trained.weights({ roundsDone: 2 });
    trained.metric({ name: 'reward/mean', round: 3 });
    expect([...trained.finished(stages, () => 5)]).toEqual(['Fine-tuning', 'Preferences']);
  });
});

describe('rounds', () => {
  const { nameOf, askedIn } = roundsOf([
    { round: 1, name: 'fine-tuning' },
    { round: 2, name: 'round 1' },
    { round: 3, name: '3' },
  ]);

  test('are called what the report calls them, also before their first step', () => {
    expect([1, 2, 3, 4].map((round) => nameOf(round))).toEqual([
      'fine-tuning',
      'round 1',
      'round 2',
      'round 3',
    ]);
    expect(roundsOf([]).nameOf(1, 'evolve')).toBe('fine-tuning');
    expect(roundsOf([]).nameOf(1, 'explore')).toBe('round 1');
  });

  test('say when a question was asked', () => {
    const when = (phase: 'evaluate' | 'practice' | 'explore', round: number): string =>
      askedIn({ phase, round });
    expect(when('evaluate', 0)).toBe('measured before training');
    expect(when('evaluate', 1)).toBe('measured after fine-tuning');
    expect(when('practice', 3)).toBe('practice, round 2');
    expect(when('explore', 0)).toBe('explore');
  });
});
