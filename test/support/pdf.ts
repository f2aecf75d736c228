/** Small PDF files for tests. */

/** A PDF of one page with these words (ASCII) and a title, whose objects are where its table says. */
export function pdfOf(words: string, title: string): Uint8Array {
  const content = `BT /F1 12 Tf 10 50 Td (${words}) Tj ET`;
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Kids[3 0 R]/Count 1>>',
    '<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 100]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>',
    `<</Length ${content.length}>>\nstream\n${content}\nendstream`,
    '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>',
    `<</Title${written(title)}/Author${written(title)}/Subject${written(title)}>>`,
  ];
  let text = '%PDF-1.4\n';
  const places = objects.map((object, i) => {
    const at = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return `${String(at).padStart(10, '0')} 00000 n \n`;
  });
  const table = text.length;
  const size = objects.length + 1;
  text += `xref\n0 ${size}\n0000000000 65535 f \n${places.join('')}trailer\n<</Size ${size}/Root 1 0 R/Info 6 0 R>>\nstartxref\n${table}\n%%EOF`;
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

/** A text string of any characters: UTF-16 with its mark, in hexadecimal digits. */
function written(text: string): string {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le').swap16();
  return `<${bytes.toString('hex')}>`;
}
