/**
 * The topics of a run, and the tap on one of them: newest first, filtered on the server, followed while it
 * grows.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { counted, thousands } from '../../../base/text/index.ts';
import { size } from '../../../summary/format/index.ts';
import type { TopicData, TopicRow, TopicsData, UnreadableRow } from '../../wire/index.ts';
import { useKeys } from '../data/keyboard.ts';
import { at, linkAt, linkTo, query, setQuery } from '../data/place.ts';
import { ends } from '../data/stream.ts';
import { useData } from '../data/useData.ts';
import { passed, useRun, useView } from '../data/useView.ts';
import { dataUrl, pathOf, queryOf } from '../logic/route.ts';
import { withRows } from '../logic/tapRows.ts';
import { Ago, Hostile, Missing, Said, shownJson } from '../parts/basics.tsx';
import { TopicTable } from '../parts/TopicTable.tsx';

export function Topics({ run, id }: { readonly run: string; readonly id: string }) {
  return id === '' ? <AllTopics run={run} /> : <Topic run={run} topic={id} key={id} />;
}

function AllTopics({ run }: { readonly run: string }) {
  const answer = useView<TopicsData>({ page: 'topics', run, id: '' });
  const { data } = answer;
  useRun(run);
  if (data === null) return <Missing answer={answer} />;
  return (
    <>
      <h1 class="page-title">Topics</h1>
      <div class="card flush">
        <TopicTable topics={data.topics} run={run} live={at.value === ''} />
      </div>
      <section class="card">
        <h2>What they hold</h2>
        <dl class="pair">
          {data.topics.map(({ name, about }) => (
            <>
              <dt>
                <a href={linkAt({ page: 'topics', run, id: name })}>{name}</a>
              </dt>
              <dd>{about}</dd>
            </>
          ))}
        </dl>
      </section>
    </>
  );
}

const asked = ['offset', 'partition', 'dir', 'where', 'key', 'limit', 'at'];

function Topic({ run, topic }: { readonly run: string; readonly topic: string }) {
  const now = query.value;
  const wanted = passed(asked);
  const route = { page: 'topics', run, id: topic } as const;
  const path = pathOf(route);
  const newest = now.offset === undefined && now.dir !== 'on' && at.value === '';
  const follow = newest && now.follow === '1';
  const grown = ends.value[topic] ?? 0;
  const answer = useView<TopicData>(route, wanted, follow ? grown : 0);
  const { data } = answer;

  // What was read besides the first answer: older rows, and while one follows, what the answers before held.
  const [rows, setRows] = useState<readonly TopicRow[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const [scanned, setScanned] = useState(0);
  const [more, setMore] = useState<string | null>(null);
  const of = useRef('');
  const address = JSON.stringify(wanted);
  useEffect(() => {
    if (data === null) return;
    const same = of.current === address;
    of.current = address;
    setRows((before) => withRows(same ? before : [], data.rows, 'oldest'));
    if (!same) {
      setNext(data.next);
      setScanned(data.scanned);
    }
    setMore(null);
  }, [data]);
  const older = useData<TopicData>(
    more === null ? null : dataUrl(path, { ...wanted, ...queryOf(more) }),
  );
  useEffect(() => {
    if (more === null || older.data === null || older.loading) return;
    setRows((before) => withRows(before, older.data!.rows, 'newest'));
    setNext(older.data.next);
    setScanned((before) => before + older.data!.scanned);
    setMore(null);
  }, [older.data, older.loading]);

  useRun(run);

  const [selected, setSelected] = useState<string | null>(null);
  const [open, setOpen] = useState<readonly string[]>([]);
  const list = useRef<HTMLOListElement>(null);
  const place = rows.findIndex(({ ref }) => ref === selected);
  const select = (index: number): void => {
    const row = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (row === undefined) return;
    setSelected(row.ref);
    list.current?.querySelector(`[data-ref="${row.ref}"]`)?.scrollIntoView({ block: 'nearest' });
  };
  const toggle = (ref: string): void =>
    setOpen((before) =>
      before.includes(ref) ? before.filter((one) => one !== ref) : [...before, ref],
    );
  const setFollow = (on: boolean): void => {
    if (on) {
      setQuery({ follow: '1', offset: undefined, dir: undefined });
      scrollTo(0, 0);
    } else setQuery({ follow: undefined });
  };
  useKeys({
    next: () => select(place + 1),
    previous: () => select(place - 1),
    first: () => select(0),
    last: () => select(rows.length - 1),
    toggle: () => {
      if (selected !== null) toggle(selected);
    },
    follow: () => setFollow(!follow),
  });
  // Whoever scrolls down reads: what he reads must not move.
  useEffect(() => {
    if (!follow) return;
    let before = scrollY;
    const onScroll = (): void => {
      if (scrollY > before + 8 && scrollY > 60) setFollow(false);
      before = scrollY;
    };
    addEventListener('scroll', onScroll, { passive: true });
    return () => removeEventListener('scroll', onScroll);
  }, [follow]);

  if (data === null) {
    // A filter that the server does not understand leaves the box where it is, with the error below.
    if (answer.problem?.code === 'USAGE') {
      return (
        <>
          <TopicHead topic={topic} about="" />
          <Filter fields={[]} />
          <p class="bad" role="alert">
            <Said text={answer.problem.message} />
          </p>
        </>
      );
    }
    return <Missing answer={answer} />;
  }
  const records = Math.max(data.of, follow ? grown : 0);
  const filtered = data.where !== '' || now.key !== undefined;
  return (
    <>
      <TopicHead topic={topic} about={data.topic.about} />
      <div class="bar">
        <Filter fields={data.fields} />
        <button
          type="button"
          aria-pressed={follow}
          disabled={at.value !== ''}
          onClick={() => setFollow(!follow)}
        >
          Follow
        </button>
        {!newest && at.value === '' && (
          <button
            type="button"
            onClick={() => setQuery({ offset: undefined, dir: undefined, partition: undefined })}
          >
            Go to newest
          </button>
        )}
        <span class="grow" />
        <span class="muted num">
          {counted(records, 'record')}
          {data.topic.bytes !== null && ` · ${size(data.topic.bytes)}`}
          {filtered &&
            ` · searched ${thousands(scanned)} of ${thousands(data.of)}, found ${thousands(rows.length)}`}
        </span>
      </div>
      {answer.problem !== null && (
        <p class="note bad">
          <Said text={answer.problem.message} />
        </p>
      )}
      <UnreadableRows rows={data.unreadable} />
      {rows.length === 0 && data.unreadable.length === 0 ? (
        <div class="card empty">
          {filtered ? (
            <p>None of the {thousands(scanned)} records searched matches.</p>
          ) : (
            <>
              <h2>Nothing here yet</h2>
              <p>{data.topic.about}</p>
            </>
          )}
        </div>
      ) : (
        <ol class="card flush rows" ref={list} aria-label={`records of ${topic}, newest first`}>
          {rows.map((row) => (
            <Row
              key={row.ref}
              row={row}
              path={path}
              keyIs={data.keyIs}
              selected={row.ref === selected}
              open={open.includes(row.ref)}
              onSelect={() => {
                setSelected(row.ref);
                toggle(row.ref);
              }}
            />
          ))}
        </ol>
      )}
      {next !== null && (
        <p class="center">
          <button type="button" disabled={more !== null} onClick={() => setMore(next)}>
            {more !== null ? 'reading …' : filtered ? 'Search further' : 'Older records'}
          </button>
        </p>
      )}
    </>
  );
}

function TopicHead({ topic, about }: { readonly topic: string; readonly about: string }) {
  return (
    <div class="page-head">
      <h1>{topic}</h1>
      <p class="muted">{about}</p>
    </div>
  );
}

function Filter({ fields }: { readonly fields: readonly string[] }) {
  const now = query.value.where ?? '';
  const [text, setText] = useState(now);
  useEffect(() => setText(now), [now]);
  const input = useRef<HTMLInputElement>(null);
  return (
    <form
      class="filter"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery(
          {
            where: input.current!.value.trim() || undefined,
            offset: undefined,
            dir: undefined,
            partition: undefined,
          },
          false,
        );
      }}
    >
      <input
        ref={input}
        type="search"
        list="fields"
        value={text}
        placeholder={fields.length === 0 ? 'filter' : `filter, e.g. ${example(fields)}`}
        aria-label="filter: field, operator, value"
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <datalist id="fields">
        {fields.map((field) => (
          <option key={field} value={`${field} `} />
        ))}
      </datalist>
      <button type="submit">Filter</button>
      {now !== '' && (
        <button
          type="button"
          class="quiet"
          onClick={() => setQuery({ where: undefined, offset: undefined, dir: undefined })}
        >
          clear
        </button>
      )}
    </form>
  );
}

function example(fields: readonly string[]): string {
  const known = [
    ['toolCalls', 'toolCalls > 2'],
    ['ok', 'ok = false'],
    ['kept', 'kept = true'],
    ['step', 'step >= 10'],
    ['name', 'name = reward/mean'],
  ].find(([field]) => fields.includes(field!));
  return known?.[1] ?? `${fields[0]} = …`;
}

function Row({
  row,
  path,
  keyIs,
  selected,
  open,
  onSelect,
}: {
  readonly row: TopicRow;
  readonly path: string;
  readonly keyIs: string;
  readonly selected: boolean;
  readonly open: boolean;
  readonly onSelect: () => void;
}) {
  // Following draws up to 2,000 rows at each update; nearly all are as they were.
  return useMemo(
    () => (
      <li class={selected ? 'row here' : 'row'} data-ref={row.ref}>
        <button type="button" class="row-head" aria-expanded={open} onClick={onSelect}>
          <span class="row-ref num">{row.ref}</span>
          <span class="row-key" title={keyIs}>
            <Hostile text={row.key} max={60} />
          </span>
          <span class="row-line">
            <Hostile text={row.line} max={240} />
          </span>
          <span class="row-age muted">
            <Ago at={row.atMs} />
          </span>
        </button>
        {open && <RowBody row={row} path={path} />}
      </li>
    ),
    [row, selected, open],
  );
}

function RowBody({ row, path }: { readonly row: TopicRow; readonly path: string }) {
  const [whole, setWhole] = useState(false);
  const answer = useData<TopicData>(
    whole
      ? dataUrl(path, {
          offset: String(row.offset),
          partition: String(row.partition),
          limit: '1',
          full: '1',
        })
      : null,
  );
  const value = answer.data?.rows[0]?.value ?? row.value;
  const here = `${path}?offset=${row.offset}${row.partition === 0 ? '' : `&partition=${row.partition}`}`;
  return (
    <div class="row-body">
      <div class="bar">
        {row.links.map(({ label, href }) => (
          <a key={href} class="button" href={href.startsWith('/') ? linkOf(href) : linkOf('/')}>
            {label}
          </a>
        ))}
        <a class="muted" href={linkOf(here)}>
          link to this record
        </a>
        <span class="grow" />
        <span class="muted num">
          {new Date(row.atMs).toISOString().replace('T', ' ').slice(0, 23)} UTC · {size(row.bytes)}
        </span>
      </div>
      <pre class="value" tabIndex={0}>
        <Hostile text={shownJson(value)} />
      </pre>
      {row.cut && !whole && (
        <button type="button" onClick={() => setWhole(true)}>
          Load in full
        </button>
      )}
      {answer.problem !== null && (
        <p class="bad">
          <Said text={answer.problem.message} />
        </p>
      )}
    </div>
  );
}

function linkOf(href: string): string {
  const [path, search = ''] = href.split('?');
  const over = queryOf(search);
  const full = at.value === '' ? over : { at: at.value, ...over };
  const text = new URLSearchParams(full as Record<string, string>).toString();
  return linkTo(`${path}${text === '' ? '' : `?${text}`}`);
}

/** A damaged log may have many: the first show what is wrong. */
const unreadableMax = 3;

function UnreadableRows({ rows }: { readonly rows: readonly UnreadableRow[] }) {
  const shown = (some: readonly UnreadableRow[]) =>
    some.map((row) => <Unreadable key={row.ref} row={row} />);
  const rest = rows.slice(unreadableMax);
  return (
    <>
      {shown(rows.slice(0, unreadableMax))}
      {rest.length > 0 && (
        <details class="card unreadable">
          <summary>{counted(rest.length, 'more record')} that cannot be read</summary>
          {shown(rest)}
        </details>
      )}
    </>
  );
}

function Unreadable({ row }: { readonly row: UnreadableRow }) {
  return (
    <div class="card unreadable" role="note">
      <p>
        <b class="bad">! Record {row.ref} cannot be read.</b> <Hostile text={row.reason} />
      </p>
      {row.hex !== null && (
        <p class="muted">
          schema {row.schema ?? '–'}, first bytes <code>{row.hex}</code>
        </p>
      )}
    </div>
  );
}
