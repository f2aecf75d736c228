/** Small chat templates in the forms of well-known families, and the special tokens that they need. */

/** Calls as JSON in <tool_call>, results in a user's message; `keeps` = thinking of earlier turns stays. */
export function hermesTemplate({ keeps = true, results = true } = {}): string {
  const thinking = "<think>\\n' ~ message.reasoning_content ~ '\\n</think>\\n\\n";
  const shown = keeps ? 'message.reasoning_content' : 'message.reasoning_content and loop.last';
  return `
{%- if tools %}{{- '<|im_start|>system\\n' }}{% if messages[0].role == 'system' %}{{- messages[0].content ~ '\\n\\n' }}{% endif %}
{%- for tool in tools %}{{- tool | tojson ~ '\\n' }}{% endfor %}{{- '<|im_end|>\\n' }}{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{{- '<|im_start|>assistant\\n' }}
{%- if ${shown} %}{{- '${thinking}' }}{% endif %}
{{- message.content or '' }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{- '\\n' }}{% endif %}
{{- '<tool_call>\\n{"name": "' ~ call.function.name ~ '", "arguments": ' ~ (call.function.arguments | tojson) ~ '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}
{{- '\\n<tool_response>\\n' ${results ? '~ message.content ' : ''}~ '\\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{% endif %}
{%- elif message.role == 'user' %}
{{- '<|im_start|>user\\n' ~ message.content ~ '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}`;
}

export const HERMES_TOKENS = [
  '<|im_end|>',
  '<|im_start|>',
  '<tool_call>',
  '</tool_call>',
  '<tool_response>',
  '</tool_response>',
  '<think>',
  '</think>',
];

/** The turn is the call; results are JSON texts of role ipython. */
export const llamaTemplate = `
{{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'user' %}
{{- '<|start_header_id|>user<|end_header_id|>\\n\\n' }}
{%- if loop.first and tools %}{% for tool in tools %}{{- tool | tojson(indent=4) ~ '\\n\\n' }}{% endfor %}{% endif %}
{{- message.content | trim ~ '<|eot_id|>' }}
{%- elif message.role == 'tool' %}
{{- '<|start_header_id|>ipython<|end_header_id|>\\n\\n' ~ (message.content | tojson) ~ '<|eot_id|>' }}
{%- elif message.tool_calls %}
{%- if message.tool_calls | length != 1 %}{{- raise_exception('one call at once') }}{% endif %}
{%- set call = message.tool_calls[0].function %}
{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n{"name": "' ~ call.name ~ '", "parameters": ' ~ (call.arguments | tojson) ~ '}<|eot_id|>' }}
{%- else %}
{{- '<|start_header_id|>' ~ message.role ~ '<|end_header_id|>\\n\\n' ~ (message.content | trim) ~ '<|eot_id|>' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}`;

export const LLAMA_TOKENS = [
  '<|eot_id|>',
  '<|begin_of_text|>',
  '<|start_header_id|>',
  '<|end_header_id|>',
  '<|python_tag|>',
  '<|eom_id|>',
];
