import { describe, expect, test } from '@jest/globals';
import { checkSettings, knownSettings, parseSetting } from '../../cli/settings.ts';
import { type LossSettings, lossSettings, policyTraining } from '../../jobs/lossSettings.ts';

const set = (...given: string[]): LossSettings =>
  checkSettings(lossSettings, given.map(parseSetting)) as unknown as LossSettings;

describe('settings of the loss', () => {
  test('say plain GRPO unless told otherwise', () => {
    expect(policyTraining(lossSettings.parse({}))).toEqual({
      losses: {
        policy: {
          ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.2, clipC: 3, aggregation: 'token-mean' },
        },
      },
      whiten: false,
      lagCorrection: null,
    });
  });

  test('reach the loss from the command line, groups by dotted keys', () => {
    const settings = set(
      ...['advantage=reinforce++-baseline', 'aggregation=seq-mean-token-mean', 'clipHigh=0.28'],
      ...['kl.coefficient=0.01', 'kl.kind=k2', 'entropyCoefficient=0.001'],
      ...['aepo.clipping=true', 'lagCorrection=truncated', 'lagCap=5'],
    );
    expect(policyTraining(settings)).toEqual({
      losses: {
        policy: {
          ...{ kind: 'policy', clipLow: 0.2, clipHigh: 0.28, clipC: 3 },
          aggregation: 'seq-mean-token-mean',
          kl: { kind: 'k2', coefficient: 0.01 },
          entropyCoefficient: 0.001,
          entropyBalance: { clipping: true, advantageWeight: 0 },
        },
      },
      whiten: true,
      lagCorrection: { kind: 'truncated', cap: 5 },
    });
  });

  test('are known by name, the groups’ too', () => {
    const known = knownSettings(lossSettings).map(({ key }) => key);
    expect(known).toEqual(expect.arrayContaining(['clipLow', 'kl.coefficient', 'aepo.clipping']));
  });

  test.each(['advantage=ppo', 'kl.coefficient=-1', 'lagCap=0.5', 'clipC=1'])(
    'refuse %s',
    (given) => {
      expect(() => set(given)).toThrow(given.split('=')[0]);
    },
  );
});
