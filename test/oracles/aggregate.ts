/**
 * How losses of tokens become the loss of a batch (ARPO reference §7.4): a weight per token.
 */

import { countSelected, type Mask, mapMatrix } from '../../model/credit/matrix.ts';
import type { Aggregation } from '../../model/losses/parts/tokenWeights.ts';

/**
 * The weight of every token; the batch loss is the sum of token losses times these.
 * `seq-mean-token-mean` gives NaN for a sequence without selected tokens: leave such sequences out.
 */
export function tokenWeights(mask: Mask, aggregation: Aggregation): number[][] {
  const sequences = mask.length;
  switch (aggregation) {
    case 'token-mean': {
      const total = countSelected(mask) + 1e-8;
      return mapMatrix(mask, (selected) => selected / total);
    }
    case 'seq-mean-token-sum':
      return mapMatrix(mask, (selected) => selected / sequences);
    case 'seq-mean-token-mean':
      return mask.map((row) => {
        const own = row.reduce((sum, selected) => sum + selected, 0);
        return row.map((selected) => selected / own / sequences);
      });
    case 'seq-mean-token-sum-norm': {
      const width = mask[0]?.length ?? 0;
      return mapMatrix(mask, (selected) => selected / width);
    }
    default:
      throw new Error(`unknown aggregation "${aggregation satisfies never}"`);
  }
}
