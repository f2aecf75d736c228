/** The losses by the names that jobs and trainers give them; docs/losses.md says which to choose. */
import { isMainThread } from 'node:worker_threads';
import { z } from 'zod';
import { MillraceError, messageOf } from '../../base/index.ts';
import type { Loss } from '../engine.ts';
import * as all from './all.ts';
import type { AnyLoss, PreparedLoss } from './loss.ts';

/** This package's losses by name. */
export const losses = { ...all } satisfies Readonly<Record<string, AnyLoss>>;

/** A key of `losses`. */
export type LossName = keyof typeof losses;

/** The settings of a loss by its name; those left out are its defaults. */
export type SettingsOf<Name extends LossName> = z.input<(typeof losses)[Name]['settings']>;

/** A loss of this package with settings that it knows. */
export type NamedLoss<Name extends LossName = LossName> = {
  readonly [N in Name]: { readonly name: N; readonly settings?: SettingsOf<N> };
}[Name];

/**
 * The loss that a name and settings describe, or that a module of the user's exports as its default. Fails
 * with code `NO_LOSS` if there is none or if the settings are invalid; the message says what is wrong.
 */
export async function prepareLoss({ name, settings = {}, module }: Loss): Promise<PreparedLoss> {
  const found = module === undefined ? byName(name) : await fromModule(module);
  try {
    return found.prepare(settings);
  } catch (cause) {
    const text = cause instanceof z.ZodError ? z.prettifyError(cause) : messageOf(cause);
    throw new MillraceError('NO_LOSS', `invalid settings of the loss ${name}: ${text}`, {
      cause,
    });
  }
}

function byName(name: string): AnyLoss {
  if (Object.hasOwn(losses, name)) return losses[name as LossName];
  throw new MillraceError(
    'NO_LOSS',
    `unknown loss '${name}': use one of ${Object.keys(losses).join(', ')}, or name your own module`,
  );
}

async function fromModule(url: string): Promise<AnyLoss> {
  // In a worker of the built package nothing loads TypeScript so far; in the main thread the job's loader
  // does.
  if (url.endsWith('.ts') && import.meta.url.endsWith('.js') && !isMainThread)
    (await import('tsx/esm/api')).register();
  const { default: found } = (await import(url)) as { readonly default?: Partial<AnyLoss> };
  if (typeof found?.prepare === 'function') return found as AnyLoss;
  throw new MillraceError(
    'NO_LOSS',
    `${url} exports no loss: end it with \`export default defineLoss({ … })\``,
  );
}
