/** The list of models, as clients of both providers read it. */

function modelOf(id: string) {
  const openAi = { object: 'model', created: 0, owned_by: 'millrace' };
  const anthropic = { type: 'model', display_name: id, created_at: '1970-01-01T00:00:00Z' };
  return { id, ...openAi, ...anthropic };
}

/** The model `named`, since a call under any name is answered; all models if no name is given. */
export function modelsAnswer(models: readonly string[], named: string): unknown {
  if (named !== '') return modelOf(named);
  return {
    object: 'list',
    data: models.map(modelOf),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  };
}
