/** An address that is not a page. */
import { linkTo, place } from '../data/place.ts';

export function NoPage() {
  return (
    <div class="empty">
      <h1>Page not found</h1>
      <p>
        <code>{place.value.path}</code> is not a page of this server.{' '}
        <a href={linkTo('/')}>All runs</a>
      </p>
    </div>
  );
}
