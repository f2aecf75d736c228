/** A text model in the roles of the flywheel, as its documentation says it is made one. */
import { expect, it } from '@jest/globals';
import { scripted } from '../../../model/text/scripted.ts';
import type { TextRequest } from '../../../model/text/textModel.ts';
import { byRole, type Complete, type Role } from '../../../operators/evolve/models.ts';
import type { AskModel } from '../../../operators/metrics/graders/jury.ts';

it('a text model plays a role of the flywheel', async () => {
  const seen: TextRequest[] = [];
  const model = scripted((request) => {
    seen.push(request);
    return 'I look <search>it</search> up';
  });
  const sampling = { maxTokens: 9, temperature: 0.6 };
  const critic: Complete = (request, signal) => model.complete({ ...sampling, ...request }, signal);

  const request = {
    role: 'critic' as Role,
    name: '1/refine',
    draws: [7, 'q1', '1/refine', 0],
    prompt: 'P',
    continuation: 'C',
    stop: ['</search>'],
  };
  const complete = byRole({ policy: critic, analyst: critic, critic });
  expect(await complete(request, new AbortController().signal)).toBe('I look <search>it</search>');
  expect(seen[0]).toMatchObject({ ...sampling, draws: request.draws, continuation: 'C' });
});

it('a text model sits in a jury', async () => {
  const model = scripted(({ prompt }) => `${prompt}: Correct`);
  const sampling = { maxTokens: 9, temperature: 0 };
  const judge: AskModel = (request, signal) => model.complete({ ...sampling, ...request }, signal);
  expect(await judge({ draws: [7, 'judge'], prompt: 'P', stop: [] })).toBe('P: Correct');
});
