/**
 * A run's contents (questions, trajectories, weights) are private to its owner: from here on this process
 * makes files 0600 and folders 0700, including those that libraries make. Called before the first file of a
 * run; what `init` and `model` write for the user follows the user's own umask.
 */
export function privateFiles(): void {
  process.umask(0o077);
}
