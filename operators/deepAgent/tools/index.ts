/** Tools that DeepAgent finds while it works. */
export { apiBankTools, isApiBank, readApiBank } from './apiBank.ts';
export { functionText } from './indexText.ts';
export { functionFault, listedDocs, ownDocs } from './ownDocs.ts';
export { programTool } from './programTool.ts';
export { readLibrary } from './readLibrary.ts';
