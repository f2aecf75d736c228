/** Copying: text on the clipboard, and the sentence that says so. */
import { signal } from '@preact/signals';

export const toast = signal('');
let timer: ReturnType<typeof setTimeout> | undefined;

export function say(text: string): void {
  toast.value = text;
  clearTimeout(timer);
  timer = setTimeout(() => {
    toast.value = '';
  }, 4000);
}

export async function copy(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    // Only pages of this machine or of https may write there.
    say(text);
  }
}

/** The command line that shows what the view shows; each view sets its own. */
export const command = signal('');
