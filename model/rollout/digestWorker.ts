/**
 * Entry of the thread that computes digests: weights are checked here while the rollout worker makes a model
 * of them.
 */

import { serve } from '../../base/index.ts';
import { fileDigest } from '../hf/fileDigest.ts';

serve({ digest: fileDigest });
