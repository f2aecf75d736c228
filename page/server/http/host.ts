/**
 * What the page's server needs of the program around it: the folder of runs, how each is opened, and the
 * commands that change one.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../../base/index.ts';
import type { Log } from '../../../streams/index.ts';
import type { RunFacts } from '../../../summary/facts/index.ts';
import type { Viewed } from '../run/runView.ts';
import type { Opened } from './hotRuns.ts';

export interface Host {
  /** A text with its commands as they are typed here: `npx millrace tap …`. */
  readonly typed: (text: string) => string;
  /** Of millrace. */
  readonly version: string;
  readonly clock: Clock;
  /** Where the runs are, for people. */
  readonly folder: string;
  /** Says a line in the server's terminal. */
  say(line: string): void;
  /** All runs, the newest first. */
  runs(): Promise<readonly KnownRun[]>;
  /** Folders whose `run.json` cannot be read, and why. */
  unreadable(): Promise<readonly { readonly name: string; readonly why: string }[]>;
  /** Fails with code `NO_RUN`, or as the log does that cannot be opened. */
  open(name: string): Promise<Opened>;
  readonly commands: RunCommands;
}

/**
 * What the page may do to a run: each is the command of that name, and leaves the record that the command
 * leaves.
 */
export interface RunCommands {
  /** Resolves to what the command says. */
  admission(kind: 'pause' | 'resume', run: string): Promise<string>;
  /** Fails with code `NO_RUN`. */
  mustExist(run: string): Promise<void>;
  /** A name that no run has yet. */
  freeName(stem: string): Promise<string>;
  /** `millrace replay RUN …` as a process of its own. */
  replay(
    run: string,
    options: readonly string[],
    env: NodeJS.ProcessEnv,
  ): ChildProcessWithoutNullStreams;
}

export interface KnownRun extends Pick<Viewed, 'name' | 'place' | 'resume' | 'typed'> {
  readonly facts: RunFacts;
  /** Opens its log to read, for as long as `use` takes; a broker is waited for as long as it says. */
  withLog<T>(use: (log: Log) => Promise<T>, brokerOpenMs: number): Promise<T>;
}
