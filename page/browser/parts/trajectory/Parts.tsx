/**
 * The parts of a reward. They have units of their own (a share, a count, a factor), so none is drawn next to
 * another: each has a scale of its own, from the least to the most that its group has of it.
 */
import type { RolloutRow } from '../../../wire/index.ts';
import { value } from '../../logic/format.ts';
import { About } from '../About.tsx';

const [left, right] = [5, 59];

export function Parts({
  of,
  group,
}: {
  readonly of: RolloutRow;
  readonly group: readonly RolloutRow[];
}) {
  const names = Object.keys(of.parts);
  if (names.length === 0) return null;
  return (
    <>
      <table class="parts">
        <tbody>
          {names.map((name) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <Scale
                  here={of.parts[name]!}
                  all={group.flatMap(({ parts }) => parts[name] ?? [])}
                />
              </td>
              <td>{value(of.parts[name])}</td>
              <td>
                <About kind="part" name={name} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">● this one, ○ others of its group; each part has its own scale</p>
    </>
  );
}

function Scale({ here, all }: { readonly here: number; readonly all: readonly number[] }) {
  const least = Math.min(here, ...all);
  const most = Math.max(here, ...all);
  if (least === most) return <span class="note">all equal</span>;
  const x = (part: number): number => left + ((right - left) * (part - least)) / (most - least);
  return (
    <svg
      width="64"
      height="12"
      role="img"
      aria-label={`${value(least)} to ${value(most)} in its group`}
    >
      <path d={`M${left} 6H${right}`} />
      {all.map((part) => (
        <circle key={part} cx={x(part)} cy="6" r="2.5" />
      ))}
      <circle class="this" cx={x(here)} cy="6" r="4" />
    </svg>
  );
}
