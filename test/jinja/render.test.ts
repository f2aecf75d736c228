/**
 * Templates render as Jinja renders them in the environment of transformers: expectations made by `oracle.py`
 * (jinja2), as digests where they are long. `yardstick.long.test.ts` makes them again.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  compile,
  convert,
  Float,
  NeedsDeadline,
  parseJson,
  TemplateFailure,
} from '../../jinja/index.ts';
import { chatTemplate } from '../../model/chat/chatTemplate.ts';
import { conversations, fixtures, renderAll, renderSource, sources } from './cases.ts';

const expected = JSON.parse(readFileSync(fixtures('expected.json'), 'utf8')) as Record<
  string,
  Record<string, string | null>
>;

/** As `expected.json` keeps a text. */
const digest = (text: string | null): string | null =>
  text === null ? null : createHash('sha256').update(text, 'utf16le').digest('hex').slice(0, 16);

test('the stored templates render as Jinja does', () => {
  const rendered = renderAll(fixtures('templates'));
  expect(Object.keys(rendered)).toEqual(Object.keys(expected));
  for (const [file, texts] of Object.entries(rendered))
    for (const [name, text] of Object.entries(texts))
      expect([file, name, digest(text)]).toEqual([file, name, expected[file]?.[name]]);
});

test.each(sources)('a template renders $source', ({ source, text }) => {
  expect(renderSource(source)).toBe(text);
});

test('without a deadline a template renders the same, or says that it needs one', () => {
  let quick = 0;
  for (const { source, text } of sources) {
    try {
      expect([source, renderSource(source, false)]).toEqual([source, text]);
      quick++;
    } catch (error) {
      if (!(error instanceof NeedsDeadline)) throw error;
    }
  }
  expect(quick / sources.length).toBeGreaterThan(0.6);
});

test('templates of real models need no deadline', () => {
  for (const file of readdirSync(fixtures('templates'))) {
    // Three that were written to try everything.
    if (['listed.jinja', 'printed.jinja', 'typed.jinja'].includes(file)) continue;
    const render = compile(readFileSync(join(fixtures('templates'), file), 'utf8'));
    for (const { conversation } of conversations) {
      const { messages, tools, gen, vars } = conversation;
      const given = { messages, tools, add_generation_prompt: gen, ...vars };
      const names = Object.entries(given).map(([name, value]) => [name, convert(value)] as const);
      try {
        render(new Map(names), undefined, false);
      } catch (error) {
        if (!(error instanceof TemplateFailure)) throw error;
      }
    }
  }
});

test.each([
  [
    'a text searched again and again',
    `{% set a = 'a' * 1000 * 400 %}{% for i in range(99999) %}{{ 'b' in a }}{% endfor %}`,
  ],
  ['a search for a long text', `{{ ('a' * 400000) in ('a' * 800000 + 'b') }}`],
  [
    'a list copied again and again',
    `{% set a = range(90000) | list %}{% for i in range(99999) %}{% set x = a | last %}{% endfor %}`,
  ],
  [
    'a list compared with itself',
    `{% set a = range(90000) | list %}{% for i in range(99999) %}{{ a == a + [] }}{% endfor %}`,
  ],
  ['a list in order', `{{ range(90000) | list | sort }}`],
  ['many pieces from the right', `{{ ('a ' * 400000).rsplit(' ', 399999) }}`],
  [
    'a number that doubles',
    `{% set n = namespace(x=3) %}{% for i in range(99) %}{% set n.x = n.x * n.x %}{% endfor %}{{ n.x }}`,
  ],
  ['a power', `{{ 7 ** 7 ** 7 }}`],
  ['a wide format', `{{ '%99999s' % 'a' }}{{ '{:>99999}'.format('a') }}`],
  ['a wide indent', `{{ [[[[1]]]] | tojson(indent=9999) }}`],
  ['a long name', `{% for i in range(99999) %}{{ {}.${'a'.repeat(100_000)} }}{% endfor %}`],
  ['a long path', `{{ [{}] | map(attribute='${'a.'.repeat(50_000)}a') | list }}`],
  [
    'many parameters',
    `{% macro m(${Array.from({ length: 9000 }, (_, i) => `a${i}`).join(',')}) %}{% endmacro %}{% for i in range(99999) %}{{ m() }}{% endfor %}`,
  ],
])('without a deadline it is not begun or soon ended: %s', (_, source) => {
  expect(() => renderSource(source, false)).toThrow(NeedsDeadline);
});

test('a feature of Jinja that is not supported is refused by name and line', () => {
  const refused: Record<string, string> = {
    '{% include "other" %}': 'the tag include',
    '{% block a %}{% endblock %}': 'the tag block',
    '{{ "a" | urlize }}': 'the filter urlize',
    '{{ "a".encode() }}': 'str.encode',
    '{{ messages.items }}{{ {}.items }}': 'printing a function',
    '{{ "a" | select }}': 'printing a generator',
    '{{ self }}': 'self',
    '{{ lipsum() }}': 'lipsum',
    '{{ 2.5 ** 0.5 }}': '** of floating-point numbers',
    '{{ ("a" | safe).strip() }}': '.strip of a value marked safe',
  };
  for (const [source, what] of Object.entries(refused)) {
    const render = () => chatTemplate('my.jinja', `line\n${source}`, {}).render([]);
    expect(render).toThrow(/^my\.jinja: the chat template .*line 2: /);
    expect(render).toThrow(what);
  }
});

test('an error in a template names its line, when parsed and when run', () => {
  const parsing: Record<string, string> = {
    '{% if a %}': "line 2: unexpected end of template, expected '%}'",
    '{{ a b }}': "line 2: expected token 'variable_end', got 'b'",
    '{{ (a }}': 'line 2: ',
    '{{ "a }}': "line 2: unexpected char '\"' at 7",
    '{% nosuch %}': "line 2: Encountered unknown tag 'nosuch'.",
    '{{ a | nosuch }}': "line 2: No filter named 'nosuch'.",
    '{{ a is nosuch }}': "line 2: No test named 'nosuch'.",
    '{# never closed': 'line 2: Missing end of comment tag',
    '{% break %}': "line 2: 'break' outside loop",
  };
  for (const [source, what] of Object.entries(parsing))
    if (source !== '{% if a %}')
      expect(() => chatTemplate('t', `one\n${source}`, {})).toThrow(
        what.startsWith('line') ? `t: the chat template does not parse: ${what}` : what,
      );
  expect(() => chatTemplate('t', 'one\n{% if a %}', {})).toThrow(/line \d: Unexpected end/);
  const template = chatTemplate(
    't',
    '{% for m in messages %}\n{{ m.content + 1 }}{% endfor %}',
    {},
  );
  expect(() => template.render([{ role: 'user', content: 'a' }])).toThrow(
    't: the chat template cannot render these messages (user): line 2: can only concatenate str (not "int") to str',
  );
});

test('a template that never ends is refused', () => {
  const deep = `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`;
  expect(() => chatTemplate('t', deep, {}).render([])).toThrow('nested too deeply');
  const nested = `{{ ${'('.repeat(5000)}1${')'.repeat(5000)} }}`;
  expect(() => chatTemplate('t', nested, {})).toThrow('nested too deeply');
  const long = `{{ 'a' * 100000000 }}`;
  expect(() => chatTemplate('t', long, {}).render([])).toThrow('a repetition this long');
  const loop: unknown[] = [];
  loop.push(loop);
  expect(() => chatTemplate('t', '{{ x }}', {}).render([], { variables: { x: loop } })).toThrow(
    'nested deeper than 500',
  );
});

test('a template cannot change what it is given, nor reach beyond it', () => {
  const messages = [{ role: 'user', content: 'a', tool_calls: [] }];
  for (const source of [
    '{{ messages.append(1) }}',
    '{{ messages[0].update({"a": 1}) }}',
    '{{ messages[0].tool_calls.clear() }}',
    '{{ messages.constructor.constructor("return process")() }}',
    '{{ "".__class__.__mro__ }}',
  ])
    expect(() => chatTemplate('t', source, {}).render(messages)).toThrow('line 1');
  expect(messages).toEqual([{ role: 'user', content: 'a', tool_calls: [] }]);
  const given = chatTemplate(
    't',
    '{{ messages[0].constructor }}{{ toString }}{{ hasOwnProperty }}',
    {},
  );
  expect(given.render(messages)).toBe('');
});

test('JSON in a template keeps what Python’s reader keeps', () => {
  expect(parseJson(' [1, 1.5, -0, true, null, "a\\u00e9\\n", {}, [ ]] ')).toEqual([
    1,
    1.5,
    0,
    true,
    null,
    'aé\n',
    {},
    [],
  ]);
  expect(parseJson('[1.0, -0.0, 1e2, 9007199254740993]')).toEqual([
    new Float(1),
    new Float(-0),
    new Float(100),
    9007199254740993n,
  ]);
  expect(parseJson('{"b": 1, "2": 2, "1": 3}')).toEqual(
    new Map([
      ['b', 1],
      ['2', 2],
      ['1', 3],
    ]),
  );
  expect(Object.keys(parseJson('{"__proto__": 1, "a": 2}') as object)).toEqual(['__proto__', 'a']);
  expect(JSON.stringify(parseJson('{"a": [1.0, "x"]}'))).toBe('{"a":[1,"x"]}');
  for (const text of [
    '',
    '[1,]',
    '{"a"}',
    '{1: 2}',
    "'a'",
    '01',
    '1 2',
    '"\n"',
    '[1',
    'nul',
    '"\\x"',
  ])
    expect(() => parseJson(text)).toThrow(SyntaxError);
  const long = JSON.stringify('é"\\'.repeat(300_000));
  expect(parseJson(long)).toBe('é"\\'.repeat(300_000));
});
