/** What JSX becomes: given to every file by the build. */
export { Fragment, h } from 'preact';
