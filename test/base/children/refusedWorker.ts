/** A worker whose disk is full. */
import { serve } from '../../../base/worker.ts';

serve({
  write() {
    throw Object.assign(new Error('ENOSPC: raw'), { code: 'ENOSPC', path: '/weights' });
  },
});
