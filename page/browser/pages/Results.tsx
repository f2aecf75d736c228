/**
 * The report of a frozen page: before and after with intervals, as the file holds them in a shadow root with
 * a style of their own.
 */
import { useCallback, useEffect } from 'preact/hooks';
import type { OverviewData } from '../../wire/index.ts';
import { useHead } from '../data/shownHead.ts';
import { command } from '../data/take.ts';
import { useData } from '../data/useData.ts';
import { dataUrl, pathOf } from '../logic/route.ts';

export function Results({ run, report }: { readonly run: string; readonly report: Element }) {
  useHead(useData<OverviewData>(dataUrl(pathOf({ page: 'overview', run, id: '' }))).data);
  useEffect(() => {
    command.value = `npx millrace report ${run}`;
  }, [run]);
  // It leaves the document with the view, and comes back as it was left.
  return <div ref={useCallback((here: Element | null) => here?.append(report), [report])} />;
}
