/** What an agent says its work is worth: `{"value": 1, "reason": "all tests pass"}`. */
import { fieldsAt, invalid, kindOf, textAt } from '../protocols/reading.ts';

const REASON_MAX = 2_000;

/** Throws a `GatewayRefusal`. */
export function rewardAt(body: unknown): { value: number; reason: string } {
  const { value, reason = '' } = fieldsAt(body, '');
  if (typeof value !== 'number' || !Number.isFinite(value)) {
    const is = value === undefined ? 'is missing' : `is ${kindOf(value)}`;
    throw invalid('value', `${is}; it must be a number`);
  }
  const said = textAt(reason, 'reason');
  if (said.length > REASON_MAX) throw invalid('reason', `is longer than ${REASON_MAX} characters`);
  return { value, reason: said };
}
