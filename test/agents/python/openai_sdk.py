import json

from openai import OpenAI
from task import DESCRIPTION, NAME, PARAMETERS, QUESTION, SYSTEM, get_weather

TOOL = {"name": NAME, "description": DESCRIPTION, "parameters": PARAMETERS}


def chat(base_url, key, stream):
    completions = OpenAI(base_url=f"{base_url}/v1", api_key=key).chat.completions
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": QUESTION}]
    while True:
        body = {"model": "policy", "messages": messages, "tools": [{"type": "function", "function": TOOL}]}
        if stream:
            with completions.stream(**body) as events:
                completion = events.get_final_completion()
        else:
            completion = completions.create(**body)
        message = completion.choices[0].message
        messages.append(message.model_dump())
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            content = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


def responses(base_url, key, stream):
    client = OpenAI(base_url=f"{base_url}/v1", api_key=key).responses
    items = [{"role": "user", "content": QUESTION}]
    while True:
        tools = [{"type": "function", "strict": True, **TOOL}]
        body = {"model": "policy", "instructions": SYSTEM, "tools": tools, "input": items}
        if stream:
            with client.stream(**body) as events:
                response = events.get_final_response()
        else:
            response = client.create(**body)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        items.extend(response.output)
        for call in calls:
            output = get_weather(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


AGENTS = {"chat": chat, "responses": responses}
