/** How the page looks on this screen. */
import { signal } from '@preact/signals';

const small = matchMedia('(max-width: 48rem)');
/** A tablet held upright, or a phone. */
export const narrow = signal(small.matches);
small.addEventListener('change', () => {
  narrow.value = small.matches;
});

/** Counts up whenever colours or the density of pixels may have changed, for what is drawn by script. */
export const appearance = signal(0);

for (const media of [
  '(prefers-color-scheme: dark)',
  '(forced-colors: active)',
  '(prefers-contrast: more)',
]) {
  matchMedia(media).addEventListener('change', () => {
    appearance.value++;
  });
}
