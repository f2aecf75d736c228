import { expect, test } from '@jest/globals';
import { losses, prepareLoss } from '../../../model/losses/losses.ts';

test.each(Object.entries(losses))(
  'the loss %s can be tried out with settings of its own',
  (name, loss) => {
    expect(loss.prepare(loss.trial).metrics).toBeDefined();
    expect(loss.settings.safeParse({}).success).toBe(true);
    expect(name).toMatch(/^[a-z]+$/);
  },
);

test('an unknown loss, and unknown settings of a loss, are refused by name', async () => {
  await expect(prepareLoss({ name: 'ppo' })).rejects.toThrow(
    "unknown loss 'ppo': use one of cispo, clipped, dpo, gspo, sft",
  );
  await expect(prepareLoss({ name: 'toString' })).rejects.toMatchObject({ code: 'NO_LOSS' });
  await expect(prepareLoss({ name: 'gspo', settings: { clipC: 3 } })).rejects.toThrow('clipC');
  await expect(prepareLoss({ name: 'dpo', settings: { beta: -1 } })).rejects.toThrow('beta');
});

test('the reference policy is asked only for what the loss needs', async () => {
  const asks = async (name: string, settings = {}) =>
    (await prepareLoss({ name, settings })).reference;
  expect(await asks('sft')).toBe(false);
  expect(await asks('dpo')).toBe(true);
  for (const name of ['clipped', 'cispo', 'gspo']) {
    expect(await asks(name)).toBe(false);
    expect(await asks(name, { kl: { coefficient: 0.1 } })).toBe(true);
  }
});
