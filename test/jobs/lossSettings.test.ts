import { describe, expect, test } from '@jest/globals';
import { knownSettings } from '../../cli/settingFields.ts';
import { checkSettings, parseSetting } from '../../cli/settings.ts';
import { type LossSettings, lossSettings, policyTraining } from '../../jobs/lossSettings.ts';

const set = (...given: string[]): LossSettings =>
  checkSettings(lossSettings, given.map(parseSetting)) as unknown as LossSettings;

describe('settings of the loss', () => {
  test('say plain GRPO by default', () => {
    expect(policyTraining(lossSettings.parse({}))).toEqual({
      losses: {
        policy: {
          name: 'clipped',
          settings: {
            clipLow: 0.2,
            clipHigh: 0.2,
            clipC: 3,
            aggregation: 'token-mean',
            kl: { kind: 'k3', coefficient: 0 },
            entropyCoefficient: 0,
            aepo: { clipping: false, advantageWeight: 0 },
          },
        },
      },
      whiten: false,
      searchActions: false,
      lagCorrection: null,
    });
  });

  test('reach the loss from the command line, groups by dotted keys', () => {
    const settings = set(
      ...['advantage=reinforce++-baseline', 'aggregation=seq-mean-token-mean', 'clipHigh=0.28'],
      ...['kl.coefficient=0.01', 'kl.kind=k2', 'entropyCoefficient=0.001'],
      ...['aepo.clipping=true', 'lagCorrection=truncated', 'lagCap=5', 'searchActions=true'],
    );
    expect(policyTraining(settings)).toEqual({
      losses: {
        policy: {
          name: 'clipped',
          settings: {
            clipLow: 0.2,
            clipHigh: 0.28,
            clipC: 3,
            aggregation: 'seq-mean-token-mean',
            kl: { kind: 'k2', coefficient: 0.01 },
            entropyCoefficient: 0.001,
            aepo: { clipping: true, advantageWeight: 0 },
          },
        },
      },
      whiten: true,
      searchActions: true,
      lagCorrection: { kind: 'truncated', cap: 5 },
    });
  });

  test('name another loss, with its own settings under its name and the shared ones', () => {
    const { losses } = policyTraining(
      set('loss=gspo', 'gspo.clipHigh=0.001', 'kl.coefficient=0.1', 'entropyCoefficient=0.01'),
    );
    expect(losses.policy).toEqual({
      name: 'gspo',
      settings: {
        clipLow: 3e-4,
        clipHigh: 1e-3,
        entropyCoefficient: 0.01,
        kl: { kind: 'k3', coefficient: 0.1 },
      },
    });
    const shared = policyTraining(set('loss=cispo', 'aggregation=seq-mean-token-sum'));
    expect(shared.losses.policy).toMatchObject({
      name: 'cispo',
      settings: { clipLow: 1, clipHigh: 4, aggregation: 'seq-mean-token-sum' },
    });
  });

  test.each([
    ['loss=gspo', 'clipHigh=0.28'],
    ['loss=gspo', 'aggregation=seq-mean-token-sum'],
    ['loss=cispo', 'gspo.clipLow=0.1'],
    ['loss=clipped', 'cispo.clipHigh=2'],
  ])('refuse what the loss does not read: %s, %s', (loss, other) => {
    const key = other.split(/[=.]/)[0]!;
    expect(() => policyTraining(set(loss, other))).toThrow(`does not use ${key}`);
  });

  test('are checked by name, in groups too', () => {
    const known = knownSettings(lossSettings).map(({ key }) => key);
    expect(known).toEqual(
      expect.arrayContaining([
        'clipLow',
        'kl.coefficient',
        'aepo.clipping',
        'cispo.clipHigh',
        'gspo.clipLow',
      ]),
    );
  });

  test.each([
    'advantage=ppo',
    'kl.coefficient=-1',
    'lagCap=0.5',
    'clipC=1',
    'loss=sft',
    'gspo.clipLow=0',
  ])('refuse %s', (given) => {
    expect(() => set(given)).toThrow(given.split('=')[0]);
  });
});
