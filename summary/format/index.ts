/** Numbers as text; pure, for the browser too. */
export {
  duration,
  NOTHING,
  orDash,
  percent,
  rate,
  signed,
  significant,
  size,
} from './numbers.ts';
export { ticks } from './ticks.ts';
