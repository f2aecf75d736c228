/**
 * `process_file` on files that Word, Excel, PowerPoint and PDF writers made, and on names that lead elsewhere.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../base/clock.ts';
import { sleepClock } from '../../../../base/sleepClock.ts';
import { attachmentsIn } from '../../../../operators/tools/files/attachments.ts';
import { fileTool } from '../../../../operators/tools/files/fileTool.ts';
import { pageParser } from '../../../../operators/tools/pages/pageParser.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { zipOf } from '../../../support/zips.ts';

const FIXTURES = join(dirname(fileURLToPath(import.meta.url)), 'fixtures');
const made = ['stock.xlsx', 'sums.xlsx', 'letter.docx', 'mills.pptx', 'report.pdf', 'red.png'];

const temporary = temporaryFolder();
const folder = join(temporary.path, 'files');
const clock = sleepClock(systemClock);
const parser = pageParser({ clock, timeoutMs: 60_000, threads: 1 });
const read = attachmentsIn({ folder, bytesMax: 200_000 });
const tool = fileTool({ read, parser, charactersMax: 400 });
const { signal } = new AbortController();

const put = (name: string, content: string | Uint8Array): string => {
  writeFileSync(join(folder, name), content);
  return name;
};

/** What the tool says of a file that the question names, unless it names others. */
async function said(input: string, files: readonly string[] = [input.split('\n')[0]!]) {
  return tool.run(input, signal, { files });
}

beforeAll(() => {
  mkdirSync(folder);
  for (const name of made) copyFileSync(join(FIXTURES, name), join(folder, name));
});
afterAll(async () => {
  await tool.close();
  temporary.remove();
});

describe('the text of a file', () => {
  test('is that of all pages of a PDF', async () => {
    const output = 'The bridge has 41 arches.\n\nPage two: opened in 1887.';
    expect(await said('report.pdf')).toEqual({ output, ok: true });
  });

  test('is the values of a workbook, sheet by sheet, dates as dates', async () => {
    const rows = ['Item,Count,Bought', '"Tea, green",12,2024-02-29', '"Says ""hot""",0.5'];
    const output = `Sheet Stock:\n${rows.join('\n')}\n\nSheet Notes:\n\n,second sheet`;
    expect(await said('stock.xlsx')).toEqual({ output, ok: true });
  });

  test('has what formulas came to', async () => {
    expect((await said('sums.xlsx')).output).toBe('Sheet Sums:\n2,true\n3\n5');
  });

  test('is the paragraphs, lists and tables of a Word document', async () => {
    const { output } = await said('letter.docx');
    const lines = output.split('\n').filter((line) => line !== '');
    expect(lines).toEqual([
      ...['A letter', 'Dear reader, the key is under the mat.', '- first point'],
      ...['City', 'Rain', 'Ulm', '7 mm'],
    ]);
  });

  test('is the slides of a presentation, in order', async () => {
    expect((await said('mills.pptx')).output).toBe(
      'Slide 1:\nMills\nWater turns them\nWind & steam too\n\nSlide 2:\nThe end',
    );
  });

  test('is taken as it is from text and code, and in its encoding', async () => {
    const code = 'def f():\n    return "<think>"\n';
    expect(await said(put('f.py', code))).toEqual({ output: code, ok: true });
    expect((await said(put('l.csv', Buffer.from('a;b\nä;1\n', 'latin1')))).output).toBe(
      'a;b\nä;1\n',
    );
    expect((await said(put('x.xml', '<a><b>1</b></a>'))).output).toBe('<a><b>1</b></a>');
    expect((await said(put('p.html', '<p>one</p><p>two</p>'))).output).toBe('one\n\ntwo');
  });

  test('goes on from a character, and says where it is', async () => {
    const name = put('long.txt', '🙂'.repeat(300) + 'b'.repeat(300));
    expect((await said(name)).output).toBe(
      `${'🙂'.repeat(300)}${'b'.repeat(100)}\n\n[Characters 0 to 400 of 600; go on from 400]`,
    );
    const rest = `${'b'.repeat(200)}\n\n[Characters 400 to 600 of 600]`;
    expect((await said(`${name}\n400`)).output).toBe(rest);
    const asJson = JSON.stringify({ file_name: name, from: 400 });
    expect((await said(asJson, [name])).output).toBe(rest);
    expect(await said(`${name}\n600`)).toEqual({
      output: 'Error: long.txt has only 600 characters.',
      ok: false,
    });
  });

  test('is the list and the texts of an archive, one level deep', async () => {
    const inner = zipOf([{ name: 'deep.txt', content: 'never shown' }]);
    const files = [
      { name: 'a/notes.txt', content: 'the first' },
      { name: 'b.bin', content: '\0\x01' },
      { name: 'c.zip', content: inner },
    ];
    const { output } = await said(put('all.zip', zipOf(files)));
    expect(output).toContain('An archive of 3 files:\na/notes.txt (9 bytes)\nb.bin (2 bytes)');
    expect(output).toContain('--- a/notes.txt ---\nthe first');
    expect(output).toContain('--- b.bin ---\n(not a text)');
    expect(output).toContain('--- c.zip ---\nAn archive of 1 files:\ndeep.txt');
    expect(output).not.toContain('never shown');
  });
});

describe('what is not text', () => {
  test('is said in a sentence', async () => {
    const reason = async (name: string) => (await said(name)).output;
    expect(await reason('red.png')).toMatch(/is an image, which visual_question_answering answers/);
    expect(await reason(put('talk.mp3', 'ID3…'))).toMatch(
      /is audio or video, which cannot be read/,
    );
    expect(await reason(put('film.mov', 'x'))).toMatch(/is audio or video/);
    expect(await reason(put('b.bin', '\0\0'))).toMatch(/its format is unknown/);
    expect(await reason(put('none.txt', ' \n'))).toBe('Error: none.txt has no text.');
    expect(await reason(put('bad.pdf', '%PDF-1.7 and nothing'))).toMatch(
      /^Error: bad.pdf cannot be read: /,
    );
    expect(await reason(put('bad.docx', 'PK\x03\x04 and nothing'))).toMatch(/cannot be read: /);
    expect(await reason(put('big.txt', 'a'.repeat(200_001)))).toMatch(/has more than 0 MiB/);
    expect(await reason('gone.txt')).toBe('Error: gone.txt cannot be read: it is not there.');
  });
});

describe('a name', () => {
  test('that the question does not have is not opened', async () => {
    put('answers.jsonl', '42');
    const { output, ok } = await said('answers.jsonl', ['a.pdf', 'b.pdf']);
    expect([output, ok]).toEqual([
      'Error: this question has no file "answers.jsonl"; its files: a.pdf, b.pdf.',
      false,
    ]);
    expect((await said('answers.jsonl', [])).output).toBe('Error: this question has no files.');
    expect((await tool.run('answers.jsonl', signal)).output).toBe(
      'Error: this question has no files.',
    );
  });

  test.each(['../secret', '..', '.', 'a/b', 'a\\b', '/etc/passwd', 'a\0b', ''])(
    'that leads out of the folder is none: %j',
    async (name) => {
      writeFileSync(join(temporary.path, 'secret'), '42');
      const input = JSON.stringify({ file_name: name });
      const { output, ok } = await said(input, [name]);
      expect([output, ok]).toEqual([
        expect.stringMatching(/^Error: this question has no file/),
        false,
      ]);
    },
  );

  test('of a link out of the folder, a folder or a pipe is refused without waiting', async () => {
    symlinkSync('/etc/hostname', join(folder, 'link.txt'));
    symlinkSync('/dev/zero', join(folder, 'zero'));
    symlinkSync('link.txt', join(folder, 'chain.txt'));
    mkdirSync(`${folder}-beside`);
    writeFileSync(join(`${folder}-beside`, 'secret.txt'), '42');
    symlinkSync('../files-beside/secret.txt', join(folder, 'beside.txt'));
    mkdirSync(join(folder, 'sub'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const reasons = [];
    const names = ['link.txt', 'zero', 'chain.txt', 'beside.txt', 'sub', 'pipe'];
    for (const name of names) reasons.push((await said(name)).output);
    expect(reasons).toEqual([
      ...names.slice(0, 4).map((name) => `Error: ${name} is a link that leads out of the folder.`),
      'Error: sub is not a file.',
      'Error: pipe is not a file.',
    ]);
  });
});

describe('a link', () => {
  test('to a file below the folder is read', async () => {
    mkdirSync(join(folder, 'stored'));
    put('stored/one.txt', 'forty-two');
    symlinkSync('stored/one.txt', join(folder, 'one.txt'));
    expect((await said('one.txt')).output).toContain('forty-two');
  });

  test('of a Hugging Face cache to a blob of its own dataset is read, to another one is not', async () => {
    const hub = join(temporary.path, 'hub');
    const snapshot = join(hub, 'datasets--org--gaia', 'snapshots', 'a1b2', '2023', 'validation');
    mkdirSync(snapshot, { recursive: true });
    for (const name of ['datasets--org--gaia', 'datasets--org--other']) {
      mkdirSync(join(hub, name, 'blobs'), { recursive: true });
      writeFileSync(join(hub, name, 'blobs', 'c3d4'), `of ${name}`);
    }
    symlinkSync('../../../../blobs/c3d4', join(snapshot, 'mine.txt'));
    symlinkSync('../../../../../datasets--org--other/blobs/c3d4', join(snapshot, 'foreign.txt'));
    const inCache = attachmentsIn({ folder: snapshot });
    const text = async (name: string) => {
      const file = await inCache(name, [name]);
      return 'bytes' in file ? Buffer.from(file.bytes).toString() : file.reason;
    };
    expect(await text('mine.txt')).toBe('of datasets--org--gaia');
    expect(await text('foreign.txt')).toBe('foreign.txt is a link that leads out of the folder');
  });
});

test('a file that several rollouts read at once is parsed once', async () => {
  let parsed = 0;
  const counted = {
    parse: (page: Parameters<typeof parser.parse>[0], until: AbortSignal) => {
      parsed++;
      return parser.parse(page, until);
    },
    close: async () => undefined,
  };
  const own = fileTool({ read, parser: counted });
  const files = ['report.pdf'];
  const all = await Promise.all([1, 2, 3].map(() => own.run('report.pdf', signal, { files })));
  await own.run('report.pdf', signal, { files });
  expect(new Set(all.map(({ output }) => output)).size).toBe(1);
  expect(parsed).toBe(1);
});
