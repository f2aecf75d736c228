/** What the browser draws for each view. */
import type { ComponentChild } from 'preact';
import type { RunPage, RunRoute } from '../wire/index.ts';
import { results } from './data/frozen.ts';
import { linkTo, place } from './data/place.ts';
import type { Route } from './logic/route.ts';
import { Diff } from './pages/Diff.tsx';
import { Metrics } from './pages/Metrics.tsx';
import { Overview } from './pages/Overview.tsx';
import { Pareto } from './pages/Pareto.tsx';
import { Question } from './pages/Question.tsx';
import { Replay } from './pages/Replay.tsx';
import { Results } from './pages/Results.tsx';
import { Runs } from './pages/Runs.tsx';
import { Topic, Topics } from './pages/Topics.tsx';
import { Trajectory } from './pages/Trajectory.tsx';
import { Weights } from './pages/Weights.tsx';

const drawn: Readonly<Record<RunPage, (route: RunRoute) => ComponentChild>> = {
  overview: ({ run }) => <Overview run={run} key={run} />,
  metrics: ({ run }) => <Metrics run={run} key={run} />,
  topics: ({ run, id }) =>
    id === '' ? (
      <Topics run={run} key={run} />
    ) : (
      <Topic run={run} topic={id} key={`${run} ${id}`} />
    ),
  pareto: ({ run }) => <Pareto run={run} key={run} />,
  question: ({ run, id }) => <Question run={run} id={id} />,
  trajectory: ({ run, id }) => <Trajectory run={run} id={id} />,
  weights: ({ run, id }) => <Weights run={run} version={id} />,
  replay: ({ run }) => <Replay run={run} />,
  results: ({ run }) => (results === null ? <NoPage /> : <Results run={run} report={results} />),
};

export function View({ route }: { readonly route: Route }) {
  switch (route.page) {
    case 'runs':
      return <Runs />;
    case 'diff':
      return <Diff a={route.a} b={route.b} />;
    case 'unknown':
      return <NoPage />;
    default:
      return drawn[route.page](route);
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

function NoPage() {
  return (
    <div class="empty">
      <h1>Page not found</h1>
      <p>
        <code>{place.value.path}</code> is not a page of this server.{' '}
        <a href={linkTo('/')}>All runs</a>
      </p>
    </div>
  );
}
