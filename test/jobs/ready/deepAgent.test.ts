/** The settings of deep-agent are those that it reads. */
import { expect, test } from '@jest/globals';
import { knownSettings } from '../../../cli/settingFields.ts';
import { deepAgentJob } from '../../../jobs/ready/deepAgent.ts';
import { etAgentJob } from '../../../jobs/ready/etAgent.ts';

const groups = (schema: Parameters<typeof knownSettings>[0]) =>
  new Set(knownSettings(schema).map(({ key }) => key.split('.')[0]));

test('deep-agent has no settings of the dialect that it brings itself', () => {
  const [own, ready] = [groups(deepAgentJob.settings), groups(etAgentJob.settings)];
  const chosen = ['dialect', 'callFaults', 'system'];
  for (const name of chosen)
    expect([name, own.has(name), ready.has(name)]).toEqual([name, false, true]);
  for (const name of ['policy', 'promptMax', 'library', 'simulator', 'tools', 'corpus'])
    expect([...own]).toContain(name);
});
