/** Event files of TensorBoard. */
export { tensorBoard } from './tensorBoard.ts';
