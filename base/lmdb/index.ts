/** Files of lmdb, checked before they are mapped. */
export { openCheckedFile } from './checkedFile.ts';
export { copyLmdb } from './copyLmdb.ts';
export { lmdbDamage, type MappedFile, mappedFile } from './lmdbFile.ts';
