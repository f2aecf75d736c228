/**
 * Parts of a job that settings choose: each kind is a value with settings of its own, and a registry is a
 * table of kinds by name (`engines.ts`, `trainers.ts`).
 *
 * The settings of all kinds are side by side under the part's name (`engine.urls`); a setting that two kinds
 * share, such as `urls`, is one field. Setting something that the chosen kind does not use is an error;
 * nothing is ignored.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { MillraceError } from '../../base/index.ts';

/** One kind of a part: the settings that it uses, and how to make it from them. */
export interface PartKind<Shape extends z.ZodRawShape, Place, Part> {
  readonly settings: Shape;
  /** Makes the part; the caller closes it. */
  open(settings: z.infer<z.ZodObject<Shape>>, place: Place): Promise<Part>;
}

/** How a kind is chosen: the part's name in settings, the setting that chooses, and its value. */
export interface Choice {
  /** For example `engine`. */
  readonly part: string;
  /** For example `server`: `engine.server` chooses the engine. */
  readonly by: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Makes the chosen kind of a part. Fails as `chosenKind` does. */
export async function openPart<Place, Part>(
  kinds: Readonly<Record<string, PartKind<z.ZodRawShape, Place, Part>>>,
  choice: Choice,
  place: Place,
): Promise<Part> {
  const kind = chosenKind(kinds, choice);
  return kind.open(z.object(kind.settings).parse(choice.settings) as never, place);
}

/**
 * The chosen kind of a part. Fails with code `USAGE` if a setting is set that this kind does not use: the
 * message names the kinds that do.
 */
export function chosenKind<Place, Part>(
  kinds: Readonly<Record<string, PartKind<z.ZodRawShape, Place, Part>>>,
  choice: Choice,
): PartKind<z.ZodRawShape, Place, Part> {
  const { part, by, settings } = choice;
  const name = String(settings[by]);
  const kind = kinds[name];
  if (kind === undefined) throw new Error(`there is no ${part} ${name}`);
  const idle = idleSetting(kinds, kind, choice);
  if (idle !== undefined) {
    const readers = Object.entries(kinds).filter(([, { settings }]) => idle in settings);
    throw new MillraceError(
      'USAGE',
      `${part}.${by}=${name} does not use ${part}.${idle}; it needs ` +
        `${readers.map(([reader]) => `${part}.${by}=${reader}`).join(' or ')}`,
    );
  }
  return kind;
}

/** A setting of another kind with a value other than its default. */
function idleSetting<Place, Part>(
  kinds: Readonly<Record<string, PartKind<z.ZodRawShape, Place, Part>>>,
  chosen: PartKind<z.ZodRawShape, Place, Part>,
  { settings }: Choice,
): string | undefined {
  const others = Object.values(kinds).flatMap((kind) => Object.entries(kind.settings));
  const isIdle = ([key, field]: readonly [string, z.core.$ZodType]): boolean => {
    if (key in chosen.settings) return false;
    const unset = z.safeParse(field, undefined);
    return !(unset.success && isDeepStrictEqual(unset.data, settings[key]));
  };
  return others.find(isIdle)?.[0];
}
