/** A port, as given on the command line of a script. */
import { InvalidArgumentError } from 'commander';

export function port(text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value > 0 && value < 65_536) return value;
  throw new InvalidArgumentError('It must be a port: a number from 1 to 65535.');
}
