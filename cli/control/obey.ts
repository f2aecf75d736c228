/**
 * The run's side of `millrace set|pause|resume|stop`: it takes commands, follows them and reports it. Changed
 * settings are noted in `run.json` as soon as the step from which they apply is known.
 */
import { skip } from 'rxjs';
import { type Control, followControl, type Log } from '../../streams/index.ts';
import { firstStepOf, topics } from '../../topics/index.ts';
import type { RunOutput } from '../progress/runOutput.ts';
import type { Run } from '../runs.ts';
import { lagMaxOf } from './changes.ts';
import { takeIn } from './inbox.ts';

export interface Obeyed {
  readonly control: Control;
  end(): Promise<void>;
}

export interface ObeyOptions {
  readonly run: Run;
  readonly log: Log;
  readonly output: RunOutput;
  readonly notice: (line: string) => void;
  /** Called when the run is paused, and when it goes on. */
  readonly paused: (is: boolean) => void;
  /** Called when a manifest counts changes that the one before does not. */
  readonly changed: () => Promise<void>;
}

export async function obey(options: ObeyOptions): Promise<Obeyed> {
  const { run, log, output, notice } = options;
  const control = await followControl(log);
  const onKafka = (run.log ?? run.record.log) !== undefined;
  const close = onKafka ? async () => undefined : takeIn(run.folder, log, notice);
  const subscription = control.paused$.pipe(skip(control.paused ? 0 : 1)).subscribe((is) => {
    options.paused(is);
    output.tell(is ? 'paused' : 'resumed', { run: run.name });
    output.say(is ? `paused; resume with: millrace resume ${run.name}` : 'resumed');
  });
  const stopped = (): void => output.say('asked to stop: finishing what is in flight');
  control.stop.addEventListener('abort', stopped, { once: true });
  let counted = -1;
  let noting: Promise<void> = Promise.resolve();
  const lagMax = lagMaxOf(run.record.settings);
  subscription.add(
    log
      .tap(topics.weights, { from: { kind: 'last', count: 1 }, follow: true })
      .subscribe(({ value: { version, controls } }) => {
        if (counted >= 0 && controls > counted) {
          const step = firstStepOf(version, lagMax);
          for (const change of control.since(counted, controls)) {
            output.tell('changed', { ...change, step });
            output.say(`${change.setting}=${JSON.stringify(change.value)} from step ${step}`);
          }
          noting = noting.then(options.changed);
        }
        counted = controls;
      }),
  );
  return {
    control,
    async end() {
      subscription.unsubscribe();
      control.stop.removeEventListener('abort', stopped);
      await close();
      await control.close();
      await noting;
    },
  };
}
