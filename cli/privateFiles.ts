/**
 * What a run has (questions, trajectories, weights) is its owner's: from here on this process makes files
 * 0600 and folders 0700, even those that libraries make. Called before the first file of a run; what `init`
 * and `model` write for the user keeps to the user's own umask.
 */
export function privateFiles(): void {
  process.umask(0o077);
}
