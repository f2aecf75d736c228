/** The setting `equality`: how mathematical answers are compared, and the verifier that it names. */
import { z } from 'zod';
import { type MathVerifier, mathVerifier, type VerifyAnswer } from '../operators/rewards/index.ts';
import type { JobContext } from './defineJob.ts';
import { pythonPackages } from './tools/pythonPackages.ts';

export const equalitySetting = z
  .enum(['forms', 'math-verify'])
  .default('forms')
  .describe(
    'how mathematical answers are compared: by normal forms, or also symbolically, by math-verify in the Python sandbox (millrace tools python add math-verify)',
  );

/**
 * The verifier; null if none is set. Its process starts with the first comparison. Fails with `USAGE` if
 * math-verify was not added.
 */
export async function verifierOf({
  settings,
  own,
}: Pick<
  JobContext<{ readonly equality: z.infer<typeof equalitySetting> }>,
  'settings' | 'own'
>): Promise<VerifyAnswer | null> {
  if (settings.equality === 'forms') return null;
  const packages = await pythonPackages(['math-verify'], 'equality=math-verify');
  const verifier: MathVerifier = own(mathVerifier({ packages }));
  return verifier.verify;
}
