/** The name of the function that is an endpoint of RestBench (DeepAgent §4.2). */

/** `POST /users/{user_id}/playlists` is `post_users_user_id_playlists`. */
export function endpointFunction(endpoint: string): string {
  return endpoint
    .toLowerCase()
    .split(/[^a-z0-9_]+/)
    .filter((part) => part !== '')
    .join('_');
}
