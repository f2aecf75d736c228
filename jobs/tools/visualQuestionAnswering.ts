/** `visual_question_answering`: a vision model on an OpenAI-compatible server. */
import { MillraceError, sleepClock } from '../../base/index.ts';
import { configuredTextModel, samplingOf } from '../../model/text/index.ts';
import { visionTool } from '../../operators/tools/files/index.ts';
import { attachmentsOf } from './attachmentsOf.ts';
import { defineTool, type ToolContext } from './toolKind.ts';

export const visualQuestionAnswering = defineTool({
  async open(context, { once }) {
    const { vision } = context.settings.tools;
    checkVision(context);
    const read = await attachmentsOf(context);
    const { seed, clock, own, print: report, replay } = context;
    const { server, api, model: name, concurrency: concurrencyMax } = vision;
    const sampling = samplingOf(vision);
    const options = { own: neverAsked, clock: sleepClock(clock), report };
    const opened = () => own(configuredTextModel(vision, options));
    let model = replay === undefined ? opened() : null;
    return visionTool({
      ...{ read, once: once(), concurrencyMax },
      scope: JSON.stringify([server, api, name, sampling]),
      ask: async ({ prompt, image: { type, bytes }, draws }, signal) => {
        const images = [{ type, base64: Buffer.from(bytes).toString('base64') }];
        const request = { ...sampling, prompt, images, draws: [seed, ...draws] };
        model ??= opened();
        return model.complete(request, signal);
      },
    });
  },
});

/** Fails with `USAGE`. */
function checkVision({ settings, replay }: ToolContext): void {
  const { url, api } = settings.tools.vision;
  if (replay !== undefined) return;
  if (url === '') {
    throw new MillraceError(
      'USAGE',
      'visual_question_answering needs a vision model: set tools.vision.url and tools.vision.model, or leave it out of tools.use',
    );
  }
  if (api !== 'chat') {
    throw new MillraceError('USAGE', `tools.vision.api=${api} does not accept images: use chat`);
  }
}

/** A replay answers from its record; otherwise there is a url. */
function neverAsked(): never {
  throw new Error('there is no vision model');
}
