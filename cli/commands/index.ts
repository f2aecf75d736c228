/** What each command is for and takes, loaded on demand. */
import type { Subcommand } from '../command.ts';
import type { CommandName } from './names.ts';

export const commands: Readonly<
  Record<CommandName, () => Promise<{ readonly command: Subcommand }>>
> = {
  run: () => import('./run.ts'),
  init: () => import('./init.ts'),
  try: () => import('./try.ts'),
  tap: () => import('./tap.ts'),
  export: () => import('./export.ts'),
  mirror: () => import('./mirror.ts'),
  pack: () => import('./pack.ts'),
  unpack: () => import('./unpack.ts'),
  top: () => import('./top.ts'),
  view: () => import('./view.ts'),
  set: () => import('./set.ts'),
  pause: () => import('./pause.ts'),
  resume: () => import('./resume.ts'),
  stop: () => import('./stop.ts'),
  metrics: () => import('./metrics.ts'),
  topics: () => import('./topics.ts'),
  report: () => import('./report.ts'),
  eval: () => import('./eval.ts'),
  model: () => import('./model.ts'),
  weights: () => import('./weights.ts'),
  cache: () => import('./cache.ts'),
  replay: () => import('./replay.ts'),
  rewind: () => import('./rewind.ts'),
  fork: () => import('./fork.ts'),
  diff: () => import('./diff.ts'),
  doctor: () => import('./doctor.ts'),
  plan: () => import('./plan.ts'),
  dlq: () => import('./dlq.ts'),
  tools: () => import('./tools.ts'),
  retriever: () => import('./retriever.ts'),
  mcp: () => import('./mcp.ts'),
  completion: () => import('./completion.ts'),
};
