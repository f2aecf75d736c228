/** What the browser draws for each route. */
import type { ComponentChild } from 'preact';
import type { RunPage } from '../wire/index.ts';
import type { Route } from './logic/route.ts';
import * as pages from './pages/all.ts';
import { Diff } from './pages/Diff.tsx';
import { Runs } from './pages/Runs.tsx';
import { NoPage } from './parts/NoPage.tsx';

interface Viewed {
  readonly run: string;
  /** Empty if the view has none. */
  readonly id: string;
}

const drawn: Readonly<Record<RunPage, (viewed: Viewed) => ComponentChild>> = pages;

export function View({ route }: { readonly route: Route }) {
  switch (route.page) {
    case 'runs':
      return <Runs />;
    case 'diff':
      return <Diff a={route.a} b={route.b} />;
    case 'unknown':
      return <NoPage />;
    default: {
      const Drawn = drawn[route.page];
      return <Drawn run={route.run} id={route.id} key={route.run} />;
    }
  }
}

export function titleOf(route: Route): string {
  switch (route.page) {
    case 'runs':
      return 'Runs · Millrace';
    case 'diff':
      return `${route.a} and ${route.b} · Millrace`;
    case 'unknown':
      return 'Page not found · Millrace';
    default: {
      const view = route.page === 'overview' ? '' : `${route.page} ${route.id}`.trim();
      return [view, route.run, 'Millrace'].filter((part) => part !== '').join(' · ');
    }
  }
}
