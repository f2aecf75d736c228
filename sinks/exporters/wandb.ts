/** `wandb:FOLDER`: an offline run of Weights & Biases. */
import { resolve } from 'node:path';
import { wandb } from '../wandb/wandb.ts';
import { carryMetrics, type Exporter } from './exporter.ts';

export const wandbExporter: Exporter = {
  form: 'wandb:FOLDER',
  where: (given, cwd) => resolve(cwd, given),
  open(folder, { about }) {
    const to = wandb(about, folder);
    return carryMetrics(to, {
      name: 'Weights & Biases',
      how: () => `; send them with: wandb sync ${to.folder()}`,
    });
  },
};
