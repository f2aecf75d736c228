/** Files of questions that mean harm, read by `process_file` with the bounds that it has by default. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { systemClock } from '../../base/clock.ts';
import { sleepClock } from '../../base/sleepClock.ts';
import { filesSettings } from '../../jobs/tools/filesSettings.ts';
import { attachmentsIn } from '../../operators/tools/files/attachments.ts';
import { fileTool } from '../../operators/tools/files/fileTool.ts';
import { pageParser } from '../../operators/tools/pages/pageParser.ts';
import { packedSpaces, type ZipFile, zipOf } from '../support/zips.ts';

/** As `HostileFile` of files.ts, which has these among its own. */
interface HostileAttachment {
  readonly code: 'Refused' | 'read';
  readonly read: (folder: string) => Promise<unknown>;
}

/** The tool has said in a sentence why it does not read a file. */
class Refused extends Error {}

/** Read or refused, soon and in little memory. */
const attached = (
  name: string,
  content: () => Uint8Array | string,
  code: HostileAttachment['code'] = 'Refused',
): HostileAttachment => ({
  code,
  async read(folder) {
    const { timeoutMs, memoryMaxMiB } = filesSettings.parse({});
    writeFileSync(join(folder, name), content());
    const clock = sleepClock(systemClock);
    const tool = fileTool({
      read: attachmentsIn({ folder }),
      parser: pageParser({ clock, timeoutMs, heapMegabytesMax: memoryMaxMiB, threads: 1 }),
    });
    try {
      const said = await tool.run(name, new AbortController().signal, { files: [name] });
      if (!said.ok) throw new Refused(said.output);
      return said.output;
    } finally {
      await tool.close();
    }
  },
});

const TYPES = `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>`;
const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const SHEET = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

const withTypes = (...files: readonly ZipFile[]): Uint8Array =>
  zipOf([{ name: '[Content_Types].xml', content: TYPES }, ...files]);

const word = (xml: string): Uint8Array => withTypes({ name: 'word/document.xml', content: xml });
const paragraphs = (inner: string, before = ''): string =>
  `<?xml version="1.0"?>${before}<w:document xmlns:w="${WORD}"><w:body>${inner}</w:body></w:document>`;

const workbook = (cells: string, ...more: readonly ZipFile[]): Uint8Array =>
  withTypes(
    {
      name: 'xl/workbook.xml',
      content: `<workbook xmlns="${SHEET}" xmlns:r="${RELATIONS}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>`,
    },
    {
      name: 'xl/_rels/workbook.xml.rels',
      content: `<Relationships><Relationship Id="r1" Type="${RELATIONS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>`,
    },
    {
      name: 'xl/worksheets/sheet1.xml',
      content: `<worksheet xmlns="${SHEET}"><sheetData>${cells}</sheetData></worksheet>`,
    },
    ...more,
  );

const slides = (xml: string): Uint8Array =>
  withTypes(
    { name: 'ppt/presentation.xml', content: '<p/>' },
    { name: 'ppt/slides/slide1.xml', content: xml },
  );

const entities = (rounds: number): string =>
  `<!DOCTYPE d [<!ENTITY a0 "aaaaaaaaaa">${Array.from(
    { length: rounds },
    (_, i) => `<!ENTITY a${i + 1} "${`&a${i};`.repeat(10)}">`,
  ).join('')}]>`;

/** A PDF of these objects, whose places its table says. */
function pdf(objects: readonly (string | Buffer)[], trailer = '/Root 1 0 R'): Uint8Array {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  const places: number[] = [];
  let at = 9;
  for (const [i, object] of objects.entries()) {
    places.push(at);
    const body = Buffer.concat([
      Buffer.from(`${i + 1} 0 obj\n`),
      typeof object === 'string' ? Buffer.from(object, 'latin1') : object,
      Buffer.from('\nendobj\n'),
    ]);
    parts.push(body);
    at += body.length;
  }
  const rows = places.map((place) => `${String(place).padStart(10, '0')} 00000 n \n`).join('');
  const size = objects.length + 1;
  parts.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${rows}trailer\n<</Size ${size}${trailer}>>\nstartxref\n${at}\n%%EOF`,
    ),
  );
  return new Uint8Array(Buffer.concat(parts));
}

const page = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R>>';
const pages = '<</Type/Pages/Kids[3 0 R]/Count 1>>';

function stream(packed: Uint8Array, filters: string): Buffer {
  return Buffer.concat([
    Buffer.from(`<</Length ${packed.length}/Filter${filters}>>\nstream\n`),
    packed,
    Buffer.from('\nendstream'),
  ]);
}

/** As zlib has it: a header before, no checksum after. */
const flateSpaces = (megabytes: number): Buffer =>
  Buffer.concat([Buffer.from([0x78, 0xda]), packedSpaces(megabytes)]);

export const attachments: Readonly<Record<string, HostileAttachment>> = {
  'a document of 900 MB': attached('a.docx', () =>
    withTypes({
      ...{ name: 'word/document.xml', content: '', packed: packedSpaces(900) },
      claims: { packed: packedSpaces(900).length, unpacked: 900 * 2 ** 20 },
    }),
  ),
  'a document that lies about its 900 MB': attached('a.docx', () =>
    withTypes({
      ...{ name: 'word/document.xml', content: '', packed: packedSpaces(900) },
      claims: { packed: packedSpaces(900).length, unpacked: 1000 },
    }),
  ),
  'a workbook with texts of 900 MB': attached('a.xlsx', () =>
    workbook('<row r="1"><c r="A1" t="s"><v>0</v></c></row>', {
      ...{ name: 'xl/sharedStrings.xml', content: '', packed: packedSpaces(900) },
      claims: { packed: packedSpaces(900).length, unpacked: 900 * 2 ** 20 },
    }),
  ),
  'files of an archive over each other': attached('a.zip', () => {
    const packed = packedSpaces(40);
    const claims = { packed: packed.length, unpacked: 40 * 2 ** 20 };
    const one = { content: ' ', packed, claims };
    const over = (i: number) => (i === 0 ? {} : { at: 0 });
    return zipOf(Array.from({ length: 8000 }, (_, i) => ({ ...one, name: `f${i}`, ...over(i) })));
  }),
  'an archive of many files': attached('a.zip', () =>
    zipOf(Array.from({ length: 21_000 }, (_, i) => ({ name: `${i}`, content: '' }))),
  ),
  'an archive that ends early': attached('a.zip', () =>
    zipOf([{ name: 'a', content: 'a' }]).slice(0, 40),
  ),
  'entities of entities in a document': attached('a.docx', () =>
    word(paragraphs('<w:p><w:r><w:t>&a9;</w:t></w:r></w:p>', entities(9))),
  ),
  'entities of entities in a workbook': attached(
    'a.xlsx',
    () =>
      workbook('', {
        name: 'xl/sharedStrings.xml',
        content: `${entities(9)}<sst xmlns="${SHEET}"><si><t>&a9;</t></si></sst>`,
      }),
    'read',
  ),
  'entities of entities in a presentation': attached(
    'a.pptx',
    () => slides(`${entities(9)}<p:sld><a:p><a:t>&a9;</a:t></a:p></p:sld>`),
    'read',
  ),
  'a file from outside in a document': attached('a.docx', () =>
    word(
      paragraphs(
        '<w:p><w:r><w:t>&x;</w:t></w:r></w:p>',
        '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>',
      ),
    ),
  ),
  'elements in elements in a document': attached('a.docx', () =>
    word(paragraphs(`${'<w:p>'.repeat(60_000)}${'</w:p>'.repeat(60_000)}`)),
  ),
  'elements in elements in a presentation': attached('a.pptx', () =>
    slides(`<p:sld>${'<a:p>'.repeat(60_000)}x${'</a:p>'.repeat(60_000)}</p:sld>`),
  ),
  'tables in tables': attached('a.docx', () =>
    word(
      paragraphs(`${'<w:tbl><w:tr><w:tc>'.repeat(9_000)}${'</w:tc></w:tr></w:tbl>'.repeat(9_000)}`),
    ),
  ),
  'a cell at the end of the sheet': attached('a.xlsx', () =>
    workbook('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'),
  ),
  'a cell beyond any sheet': attached('a.xlsx', () =>
    workbook('<row r="9999999999"><c r="ZZZZZZZ9999999999"><v>1</v></c></row>'),
  ),
  'a cell again and again': attached('a.xlsx', () =>
    workbook(`<row r="1">${'<c r="A1"><v>1</v></c>'.repeat(300_000)}</row>`),
  ),
  'a cell whose place is spelt otherwise': attached('a.xlsx', () =>
    workbook('<row r="1"><c r="A&#49;e9"><v>1</v></c></row>'),
  ),
  'a page of 900 MB': attached('a.pdf', () =>
    pdf(['<</Type/Catalog/Pages 2 0 R>>', pages, page, stream(flateSpaces(900), '/FlateDecode')]),
  ),
  'a page that is packed twice': attached('a.pdf', () =>
    pdf([
      '<</Type/Catalog/Pages 2 0 R>>',
      pages,
      page,
      stream(deflateSync(flateSpaces(900)), '[/FlateDecode/FlateDecode]'),
    ]),
  ),
  'pages in a circle': attached('a.pdf', () =>
    pdf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 2>>']),
  ),
  'two billion pages': attached('a.pdf', () =>
    pdf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 2147483647>>', page]),
  ),
  'brackets without end in a PDF': attached('a.pdf', () =>
    pdf(['<</Type/Catalog/Pages 2 0 R>>', `${'['.repeat(400_000)}`]),
  ),
  'a PDF without a table': attached('a.pdf', () => `%PDF-1.7\n${'1 0 obj\n'.repeat(100_000)}`),
  'a PDF of noise': attached('a.pdf', () => `%PDF-1.7\n${'stream\nx\x9c'.repeat(90_000)}`),
  'nothing but zeros': attached('a.txt', () => new Uint8Array(1_000_000)),
};
