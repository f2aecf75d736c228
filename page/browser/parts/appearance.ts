/** Counts up whenever colours or the density of pixels may have changed, for what is drawn by script. */
import { signal } from '@preact/signals';

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
