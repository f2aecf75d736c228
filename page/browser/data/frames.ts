/**
 * Changes are drawn once a frame, however much arrived since: twenty ticks a second, or everything that a tab
 * that slept catches up with. A hidden tab has no frames; it draws once a second, so that nothing piles up
 * there either.
 */
import { options } from 'preact';

options.debounceRendering = (render) => {
  if (document.hidden) setTimeout(render, 1000);
  else requestAnimationFrame(render);
};
