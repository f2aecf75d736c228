/** Text models as the roles of the flywheel: each samples in its own way. */
import type { TextModel, TextSampling } from '../model/text/textModel.ts';
import type { Complete } from '../operators/evolve/models.ts';

/** A text model with its sampling, in the form that the flywheel asks; what a request itself says counts first. */
export function role(model: TextModel, sampling: TextSampling): Complete {
  return (request, signal) => model.complete({ ...sampling, ...request }, signal);
}
