/** `tensorboard:FOLDER`: event files. */
import { resolve } from 'node:path';
import { tensorBoard } from '../tensorboard/tensorBoard.ts';
import { carryMetrics, type Exporter } from './exporter.ts';

export const tensorBoardExporter: Exporter = {
  form: 'tensorboard:FOLDER',
  where: (given, cwd) => resolve(cwd, given),
  open(folder, { about, clock }) {
    const to = tensorBoard(about, { folder, clock });
    return carryMetrics(to, {
      name: 'TensorBoard',
      how: () => `, in ${to.folder()}; see them with: tensorboard --logdir ${folder}`,
    });
  },
};
