/** The auxiliary model of this world: a rule that collects the findings so far and writes them down. */
import { pythonJson } from 'millrace/operators';

/** The memories of a fold, in words that the policy has tokens for. */
export function memoryOf(kind: string, steps: string): string {
  if (kind === 'working') {
    return pythonJson({ immediate_goal: '', current_challenges: '', next_actions: [] });
  }
  if (kind === 'tool') return pythonJson({ tools_used: [], derived_rules: [] });
  return pythonJson({
    task_description: '',
    key_events: [...steps.matchAll(CALLED)].map(([, fn = '', name = '', value = '']) => {
      const [thing, property] = fn.split('_');
      return { step: '', description: `the ${property} of the ${thing} ${name}`, outcome: value };
    }),
    current_progress: '',
  });
}

/** A call with its answer, as written in the steps of the work. */
const CALLED =
  /<tool_call>\{"name": "(\w+)", "arguments": \{"of": "(\w+)"\}\}<\/tool_call>\s+(?:Step \d+: )?<tool_call_result>\{"\w+": (\d+)\}/g;
