/** The tool calls of a trajectory, each with its result: for rewards that consider how a tool was used. */
import { isFailedResult } from '../dialect/results.ts';
import { Finder } from '../dialect/tags.ts';

/** A finished call. */
export interface CallForReward {
  readonly tool: string;
  /** As the policy wrote it. */
  readonly input: string;
  /** The tool's answer; null = none, because the rollout ended there. */
  readonly result: string | null;
  /** There is a result, and it shows a failure. */
  readonly failed: boolean;
}

/** In the order in which they were made; results follow the same order. */
export function callsIn(text: string, tools: readonly string[]): CallForReward[] {
  const calls: { tool: string; input: string; result: string | null }[] = [];
  const finder = new Finder(text);
  const tags = [...tools, 'result'];
  let answered = 0;
  for (let from = 0; ; ) {
    const next = tags
      .flatMap((tag) => {
        const block = finder.block(tag, from);
        return block === null ? [] : [{ tag, ...block }];
      })
      .reduce<{ tag: string; inner: string; start: number; end: number } | null>(
        (first, each) => (first === null || each.start < first.start ? each : first),
        null,
      );
    if (next === null) break;
    if (next.tag !== 'result') calls.push({ tool: next.tag, input: next.inner, result: null });
    else if (answered < calls.length) calls[answered++]!.result = next.inner;
    from = next.end;
  }
  return calls.map((call) => ({
    ...call,
    failed: call.result !== null && isFailedResult(call.result),
  }));
}
