/** `browse`: reads the page at an address. */
import { browseTool } from '../../operators/tools/pages/index.ts';
import { defineTool } from './toolKind.ts';

export const browse = defineTool({
  open({ settings }, { read, summariser }) {
    const { shownCharacters: charactersMax } = settings.tools.pages;
    return browseTool({ read: read(), summariser: summariser(), charactersMax });
  },
});
