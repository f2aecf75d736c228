/**
 * Entry of the thread that computes digests: weights are checked here while the rollout worker makes a model of them.
 */
import { fileDigest } from '../hf/fileDigest.ts';
import { serve } from '../runtime/worker.ts';

serve({ digest: fileDigest });
