/**
 * RestBench's endpoints (DeepAgent §4.2): an endpoint is used by a function of its own, or through the two
 * tools that take its name.
 */
import { endpointFunction } from '../../text/endpointFunction.ts';

/** The tools that are given the name of an endpoint. */
const endpointTools: readonly string[] = ['get_api_details', 'call_api'];

interface MadeCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** The endpoint that a call uses; undefined = none of these. */
export function endpointOf(
  { name, arguments: { endpoint_name: named } }: MadeCall,
  endpoints: readonly string[],
): string | undefined {
  if (endpointTools.includes(name)) return typeof named === 'string' ? named.trim() : undefined;
  return endpoints.find((endpoint) => endpointFunction(endpoint) === name);
}
