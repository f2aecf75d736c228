/** What every view of a run does: requests its data, follows its run. */
import { useEffect } from 'preact/hooks';
import type { OfRun, RunRoute } from '../../wire/index.ts';
import { dataUrl, pathOf, type Query } from '../logic/route.ts';
import { at, query } from './place.ts';
import { useHead } from './shownHead.ts';
import { ends, listen, refreshes } from './stream.ts';
import { type Answer, useData } from './useData.ts';

/** As of the moment in the address, unless `asked` says otherwise; again whenever `grown` changes. */
export function useView<T extends OfRun>(
  route: RunRoute,
  asked: Query = passed(['at']),
  grown = 0,
): Answer<T> {
  const answer = useData<T>(dataUrl(pathOf(route), asked), `${refreshes.value} ${grown}`);
  useHead(answer.data);
  return answer;
}

/** Subscribes the stream to this run's state. */
export function useRun(run: string): void {
  useEffect(() => listen({ run }), [run]);
}

/** These parameters of the address, as far as it has them. */
export function passed(names: readonly string[]): Query {
  const now = query.value;
  return Object.fromEntries(
    names.flatMap((name) => (now[name] === undefined ? [] : [[name, now[name]]])),
  );
}

/** A number that rises with every record of the topic, while the view is live. */
export function grownOf(topic: string): number {
  return at.value === '' ? (ends.value[topic] ?? 0) : 0;
}
