/** Deletes topics of a run from outside, as someone with rights on the broker may. */
import { Admin } from '@platformatic/kafka';
import { until } from './until.ts';

async function withAdmin<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
  const bootstrapBrokers = [process.env.MILLRACE_KAFKA ?? ''];
  const admin = new Admin({ clientId: 'millrace-test', bootstrapBrokers });
  try {
    return await use(admin);
  } finally {
    await admin.close();
  }
}

/** Resolves when the broker does not list them any more. None named = all of the run. */
export function deleteTopics(run: string, ...names: readonly string[]): Promise<void> {
  return withAdmin(async (admin) => {
    const own = async (): Promise<string[]> =>
      (await admin.listTopics()).filter((topic) =>
        names.length === 0
          ? topic.startsWith(`${run}.`)
          : names.some((name) => topic === `${run}.${name}`),
      );
    await admin.deleteTopics({ topics: await own() });
    await until(async () => (await own()).length === 0);
  });
}

/** Makes a topic that was deleted again: under the same name, empty. */
export function makeTopic(run: string, name: string): Promise<void> {
  return withAdmin(async (admin) => {
    await admin.createTopics({ topics: [`${run}.${name}`], partitions: 1, replicas: 1 });
  });
}
