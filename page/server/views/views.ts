/** The server's half of a run's views: each is the file in this folder that has the view's name. */
import type { RunPage } from '../../wire/index.ts';
import type { ServedView } from './asked.ts';

export async function servedView(page: RunPage): Promise<ServedView> {
  return (await import(`./${page}.ts`)) as ServedView;
}
