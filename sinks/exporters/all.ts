/** The exporters by their names on the command line. */
export { mlflowExporter as mlflow } from './mlflow.ts';
export { otlp } from './otlp.ts';
export { tensorBoardExporter as tensorboard } from './tensorBoard.ts';
export { wandbExporter as wandb } from './wandb.ts';
