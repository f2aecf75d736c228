/** A job of one's own: its questions, tool and reward. `npx millrace run examples/own/job.ts` runs it. */
import * as m from 'millrace';
import { worldParts, worldSettings } from '../quickstart/parts.ts';

const product = (text: string) => `${text.match(/\d+/g)?.reduce((a, b) => a * Number(b), 1)}`;
const train = Array.from({ length: 60 }, (_, i): m.QuestionItem => {
  const question = `What is ${13 * i + 101} * ${i + 11}?`;
  const answers = [product(question)];
  return { value: { id: `product-${i}`, question, answers, source: 'products', ability: 'math' } };
});
const calculator = m.pureTool('python', 'Multiplies the numbers in a text.', product);
const accuracy = m.accuracy();
const reward: m.RewardFunction = (group) =>
  accuracy(group).map((one, i) => ({ ...one, score: one.score - (group.lengths[i] ?? 0) / 1000 }));

export default m.defineJob({
  name: 'products',
  about: 'Teaches the quickstart’s policy to multiply, in few words.',
  settings: m.calibrateSettings.extend(worldSettings),
  async build(context) {
    const { parts } = await worldParts(context, calculator);
    return m.trainPolicy(context, parts, { train }, [m.calibrate(context.settings, { reward })]);
  },
});
