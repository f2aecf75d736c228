/**
 * What the page's server needs from the program around it: the folder of runs, a way to open each, and the
 * commands that change one.
 */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import type { Clock } from '../../../base/index.ts';
import type { Log } from '../../../streams/index.ts';
import type { RunFacts } from '../../../summary/facts/index.ts';
import type { Viewed } from '../run/runView.ts';
import type { Opened } from './hotRuns.ts';

export interface Host {
  /** A text whose commands are written as they are typed here: `npx millrace tap …`. */
  readonly typed: (text: string) => string;
  /** The version of millrace. */
  readonly version: string;
  readonly clock: Clock;
  /** Where the runs are, for people. */
  readonly folder: string;
  /** Prints a line in the server's terminal. */
  say(line: string): void;
  /** All runs, newest first. */
  runs(): Promise<readonly KnownRun[]>;
  /** Folders whose `run.json` cannot be read, and why. */
  unreadable(): Promise<readonly { readonly name: string; readonly why: string }[]>;
  /** Fails with code `NO_RUN`, or with the log's own error if it cannot be opened. */
  open(name: string): Promise<Opened>;
  readonly commands: RunCommands;
}

/** What the page may do to a run: each is the command of that name and leaves the same record. */
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
  /**
   * Opens its log for reading while `use` works; waits for a broker as long as the broker's settings allow.
   */
  withLog<T>(use: (log: Log) => Promise<T>, brokerOpenMs: number): Promise<T>;
}
