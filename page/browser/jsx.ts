/** What JSX compiles to: injected into every file by the build. */
export { Fragment, h } from 'preact';
