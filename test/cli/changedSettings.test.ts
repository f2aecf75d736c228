import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { changedSettings } from '../../cli/changedSettings.ts';
import { checkSettings, parseSetting, settingsOf } from '../../cli/settings.ts';

const schema = z.object({
  policy: z.string().min(1, 'is required: a folder').prefault(''),
  lr: z.number().default(0.1),
  loss: z.object({ clip: z.number().default(0.2), kind: z.string().default('a') }).prefault({}),
});

describe('settings that differ from the defaults of the job', () => {
  const of = (given: Parameters<typeof checkSettings>[1], over: z.ZodType = schema) =>
    changedSettings(over, given, checkSettings(over, given));

  it('are recorded with their origin and the default', () => {
    const preset = settingsOf(schema, { loss: { clip: 0.5 } }, () => 'preset p');
    const given = [...preset, parseSetting('policy=q'), parseSetting('lr=0.1')];
    expect(of(given)).toEqual({
      policy: { from: '--set' },
      'loss.clip': { from: 'preset p', default: 0.2 },
    });
  });

  it('include those of a group that was given as JSON', () => {
    const given = [parseSetting('policy=q'), parseSetting('loss={"clip":0.9}')];
    expect(of(given)).toMatchObject({ 'loss.clip': { from: '--set', default: 0.2 } });
    expect(of(given)).not.toHaveProperty('loss.kind');
  });

  it('are those that were given if the defaults contradict each other', () => {
    const refined = schema.refine(({ lr }) => lr > 1, 'lr is too low');
    expect(of(['policy=q', 'lr=2'].map(parseSetting), refined)).toEqual({
      policy: { from: '--set' },
      lr: { from: '--set' },
    });
  });
});
