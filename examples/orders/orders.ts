/**
 * Millrace's streams on their own, outside machine learning: orders meet their payments, each day is added
 * up, the process is killed and started again, and the records are replayed. README.md next to this file says
 * how to run it.
 */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as streams from 'millrace/streams';
import { pipe } from 'rxjs';

const { defineTopic, flow, gatherBy, mapEach, openLog, recordsOf, runFlow, shapes, source, stage } =
  streams;
const { record, text, whole } = shapes;

export const DAYS = 25;
const ORDERS_A_DAY = 4;

const event = record('Event', { order: text, day: whole, kind: text, cents: whole });
type Event = streams.shapes.ValueOf<typeof event>;
const total = record('Total', { day: whole, orders: whole, paid: whole, cents: whole });
export type Total = streams.shapes.ValueOf<typeof total>;

const topic = (name: string, about: string) =>
  defineTopic<Event>({ name, about, shape: event, key: ({ order }) => order });
const events = topic('events', 'What customers did: they ordered, they paid.');
const settled = topic('settled', 'Orders with what was paid for them.');
const totals = defineTopic<Total>({
  ...{ name: 'totals', about: 'A window: what each day came to.', shape: total },
  key: ({ day }) => String(day),
});
const topics = [events, settled, totals];

/** Every order, then every payment; a fifth of them pay too little. */
function* world(): Generator<Event> {
  const all = Array.from({ length: DAYS * ORDERS_A_DAY }, (_, i) => i);
  const day = (i: number): number => Math.floor(i / ORDERS_A_DAY);
  for (const i of all) yield { order: `o${i}`, day: day(i), kind: 'order', cents: 100 + i };
  for (const i of all) {
    yield { order: `o${i}`, day: day(i), kind: 'payment', cents: i % 5 === 0 ? 1 : 100 + i };
  }
}

const match = pipe(
  gatherBy<Event>({ key: ({ order }) => order, size: 2, openMax: 1000 }),
  mapEach(([ordered, payment]) => ({ ...ordered!, cents: payment!.cents }), { concurrency: 8 }),
);
const addUp = (crash: () => void) =>
  pipe(
    gatherBy<Event>({ key: ({ day }) => String(day), size: ORDERS_A_DAY, openMax: 100 }),
    mapEach(
      (orders): Total => {
        crash();
        const cents = orders.map((order) => order.cents);
        const paid = cents.filter((one) => one > 1).length;
        const sum = cents.reduce((a, b) => a + b, 0);
        return { day: orders[0]!.day, orders: orders.length, paid, cents: sum };
      },
      { concurrency: 1 },
    ),
  );

/** Runs to the end, or until `crash` ends the process. Each start continues where the last one stopped. */
export async function run(
  folder: string,
  given: Iterable<Event> | AsyncIterable<Event>,
  crash = (): void => undefined,
): Promise<readonly Total[]> {
  const log = await openLog({ folder, mode: 'write', topics });
  const items = async function* () {
    for await (const value of given) yield { value };
  };
  const parts = [
    source('world', events, items()),
    stage('match', events, settled, match),
    stage('add-up', settled, totals, addUp(crash)),
  ];
  await runFlow(flow(...parts), { log });
  const found: Total[] = [];
  for await (const { value } of recordsOf(log, totals, { from: { kind: 'earliest' } })) {
    found.push(value);
  }
  await log.close();
  return found.sort((a, b) => a.day - b.day);
}

/** The same again from the recorded events alone, in a separate log. */
export async function replay(folder: string): Promise<readonly Total[]> {
  const recorded = await openLog({ folder, mode: 'read', topics });
  const values = async function* () {
    const from = { kind: 'earliest' } as const;
    for await (const { value } of recordsOf(recorded, events, { from })) yield value;
  };
  const again = await run(await mkdtemp(join(tmpdir(), 'orders-')), values());
  await recorded.close();
  return again;
}

const [folder, ...options] = process.argv.slice(2);
if (folder !== undefined && process.argv[1]?.endsWith('orders.ts')) {
  let windows = 0;
  const crash = (): void => {
    if (options.includes('--crash') && ++windows === 10) process.kill(process.pid, 'SIGKILL');
  };
  const found = options.includes('--replay')
    ? await replay(folder)
    : await run(folder, world(), crash);
  const cents = found.reduce((sum, day) => sum + day.cents, 0);
  console.log(JSON.stringify({ days: found.length, cents }));
}
