/** Styles are imported only for the bundle. */
declare module '*.css';
