/**
 * The report of a frozen page: before and after with intervals, as the file holds them in a shadow root with
 * a style of their own.
 */
import { useCallback } from 'preact/hooks';
import type { OverviewData } from '../../wire/index.ts';
import { results } from '../data/frozen.ts';
import { useCommand, useView } from '../data/useView.ts';
import { NoPage } from '../parts/NoPage.tsx';

export function Results({ run }: { readonly run: string }) {
  useView<OverviewData>({ page: 'overview', run, id: '' }, {});
  useCommand(run, `npx millrace report ${run}`);
  // It leaves the document with the view, and comes back as it was left.
  const into = useCallback((here: Element | null) => here?.append(results!), []);
  return results === null ? <NoPage /> : <div ref={into} />;
}
