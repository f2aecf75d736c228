/** Where the targets of a sequence are: ascending indices, none 0. A step has millions of them. */

export type Places = readonly number[] | Int32Array;

/** Places, other than the first, where the mask is 1. */
export function targetPlaces(mask: Uint8Array): Int32Array {
  let count = 0;
  for (let place = 1; place < mask.length; place++) count += mask[place] === 1 ? 1 : 0;
  const places = new Int32Array(count);
  let index = 0;
  for (let place = 1; place < mask.length; place++) if (mask[place] === 1) places[index++] = place;
  return places;
}

/** Every place but the first of a sequence of this length. */
export function allPlaces(length: number): Int32Array {
  return Int32Array.from({ length: Math.max(0, length - 1) }, (_, index) => index + 1);
}

/** Each run of neighbouring places: the index of its first place, that place, and how many it has. */
export function eachRun(
  places: Places,
  act: (index: number, place: number, length: number) => void,
): void {
  for (let from = 0; from < places.length; ) {
    const end = endOfRun(places, from);
    act(from, places[from]!, end - from);
    from = end;
  }
}

/** The index after the run that begins at `from`, by steps that double and a search between the last two. */
function endOfRun(places: Places, from: number): number {
  const inRun = (index: number) => places[index]! - places[from]! === index - from;
  let [inside, step] = [from, 1];
  while (inside + step < places.length && inRun(inside + step)) {
    inside += step;
    step *= 2;
  }
  let outside = Math.min(inside + step, places.length);
  while (outside - inside > 1) {
    const middle = (inside + outside) >>> 1;
    if (inRun(middle)) inside = middle;
    else outside = middle;
  }
  return outside;
}
