/** The quickstart with a reward of one's own: right, and brief. `npx millrace run examples/own/reward.ts` runs it. */
import * as m from 'millrace';
import { worldParts, worldSettings } from '../quickstart/parts.ts';

const brief = m.perRollout('brief', ({ length }) => (length < 60 ? 1 : 0));
const reward = m.weighted([
  { weight: 1, reward: m.accuracy() },
  { weight: 0.2, reward: brief },
]);

export default m.defineJob({
  name: 'own-reward',
  about: 'Calibrates the quickstart’s policy by a reward of one’s own.',
  settings: m.calibrateSettings.extend(worldSettings),
  async build(context) {
    const { settings, seed } = context;
    const { rows, parts } = await worldParts(context);
    const plan = await m.planQuestions(rows, { ...settings, seed });
    const method = { ...m.calibration(settings, plan), reward };
    return m.calibrate(await m.policyLoop(context, { ...parts, plan }, method), plan, settings);
  },
});
