/**
 * Which hosts credentials from the environment may go to: those that the user at this machine has named, on
 * the command line or in `MILLRACE_HOSTS` next to the credentials. An address that a file names (a run's
 * record, an archived segment) is not enough: the file may be someone else's.
 */

export const HOSTS_VARIABLE = 'MILLRACE_HOSTS';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Whether the user named all of these hosts (`host` or `host:port`). A name without a port covers all ports.
 */
export function areNamed(hosts: readonly string[], env: Environment = process.env): boolean {
  const named = (env[HOSTS_VARIABLE] ?? '').split(',').map((host) => host.trim().toLowerCase());
  return hosts.every((host) => {
    const whole = host.toLowerCase();
    return named.includes(whole) || named.includes(whole.replace(/:\d+$/, ''));
  });
}

/** Names hosts for this process and those that it starts: the user gave them on the command line. */
export function nameHosts(hosts: readonly string[], env: NodeJS.ProcessEnv = process.env): void {
  const missing = hosts.filter((host) => !areNamed([host], env));
  if (missing.length === 0) return;
  env[HOSTS_VARIABLE] = [env[HOSTS_VARIABLE] ?? '', ...missing].filter(Boolean).join(',');
}
