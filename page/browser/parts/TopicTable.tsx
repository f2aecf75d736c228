/** Every topic of a run: how much it holds, how fast it grows, who has not read it yet. */
import { thousands } from '../../../base/text/index.ts';
import { orDash, rate, size } from '../../../summary/format/index.ts';
import type { MillTopic } from '../../wire/index.ts';
import { linkAt } from '../data/place.ts';
import { ends } from '../data/stream.ts';
import { Ago, Scrolls, Th } from './basics.tsx';
import { Spark } from './Spark.tsx';

export function TopicTable({
  topics,
  run,
  live,
}: {
  readonly topics: readonly MillTopic[];
  readonly run: string;
  readonly live: boolean;
}) {
  // What is not known of any of them, as of those at an earlier step, has no column.
  const moves = topics.some(({ lastMs, perSecond }) => lastMs !== null || (perSecond ?? 0) > 0);
  const read = topics.some(({ lag }) => Object.keys(lag).length > 0);
  const sized = topics.some(({ bytes }) => bytes !== null);
  return (
    <Scrolls label="topics">
      <table class="topics">
        <thead>
          <tr>
            <Th left>topic</Th>
            <Th>records</Th>
            {moves && <Th>per second</Th>}
            {moves && <Th left>last 5 min</Th>}
            {read && <Th left>reader lag</Th>}
            {sized && <Th>size</Th>}
            {moves && <Th>newest</Th>}
          </tr>
        </thead>
        <tbody>
          {topics.map(({ name, about, records, bytes, perSecond, lastMs, lag, spark }) => (
            <tr key={name}>
              <th scope="row" title={about}>
                <a href={linkAt({ page: 'topics', run, id: name })}>{name}</a>
              </th>
              <td>{thousands(live ? Math.max(records, ends.value[name] ?? 0) : records)}</td>
              {moves && <td>{orDash(perSecond, rate)}</td>}
              {moves && (
                <td class="l ink0">
                  <Spark values={spark} />
                </td>
              )}
              {read && (
                <td class="l">
                  {Object.entries(lag).map(([reader, records]) => (
                    <span class={records > 0 ? 'lag' : 'lag muted'} key={reader}>
                      {reader} {thousands(records)}{' '}
                    </span>
                  ))}
                </td>
              )}
              {sized && <td>{orDash(bytes, size)}</td>}
              {moves && (
                <td>
                  <Ago at={lastMs} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  );
}
