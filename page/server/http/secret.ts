/** The environment variable that may hold the token of a server's link. */
export const TOKEN_VARIABLE = 'MILLRACE_VIEW_TOKEN';
