/**
 * Entry of the thread that computes digests: it checks weights while the rollout worker builds a model from
 * them.
 */

import { serve } from '../../base/index.ts';
import { fileDigest } from '../hf/fileDigest.ts';

serve({ digest: fileDigest });
