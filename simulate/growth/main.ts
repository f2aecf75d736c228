/**
 * `npm run growth`: as many rounds as a year of hourly ones, in virtual time, restarted twelve times. Prints
 * a table of what a start reads, what is on disk and how much memory the process has.
 */
import { parseArgs } from 'node:util';
import { growth } from './growth.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '8760' },
    stretches: { type: 'string', default: '12' },
    seed: { type: 'string', default: '1' },
  },
});
const [rounds, stretches, seed] = [values.rounds, values.stretches, values.seed].map(Number);

console.log(
  '  rounds    days  files  records/round  process MB  read of more than 500 rounds before',
);
for await (const age of growth({
  ...{ seed: seed!, stretches: stretches!, rounds: Math.floor(rounds! / stretches!) },
  ...{ arrivalMs: 300, lately: 500 },
})) {
  const read = age.read.map(([topic, records]) => `${topic} ${records}`).join(', ');
  const cells = [
    String(age.rounds).padStart(8),
    age.days.toFixed(0).padStart(7),
    String(age.files).padStart(6),
    age.recordsARound.toFixed(1).padStart(14),
    (age.heapMb?.toFixed(1) ?? '-').padStart(11),
  ];
  console.log(`${cells.join(' ')}  ${read === '' ? 'nothing' : read}`);
}
