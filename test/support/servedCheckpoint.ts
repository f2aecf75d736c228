/** What a real server serves: a checkpoint of this machine. */
export interface ServedCheckpoint {
  readonly model: string;
  /** Folder of the checkpoint. */
  readonly root: string;
}

export async function servedAt(url: string): Promise<ServedCheckpoint> {
  const said = (await (await fetch(`${url}/v1/models`)).json()) as {
    data: { id: string; root: string; parent?: string | null }[];
  };
  const { id, root } = said.data.find(({ parent = null }) => parent === null)!;
  // SGLang gives the model's name as its root, and what it was started with elsewhere; its `model_path` is
  // that of the last weights
  const asked = await fetch(`${url}/get_model_info`);
  const { tokenizer_path: path = root } = asked.ok
    ? ((await asked.json()) as { tokenizer_path?: string })
    : {};
  return { model: id, root: path };
}
