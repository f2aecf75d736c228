from anthropic import Anthropic, beta_tool
from task import DESCRIPTION, NAME, PARAMETERS, QUESTION, SYSTEM, get_weather


def text(message):
    return "".join(block.text for block in message.content if block.type == "text")


def messages(base_url, key, stream):
    client = Anthropic(base_url=base_url, api_key=key).messages
    given = [{"role": "user", "content": QUESTION}]
    while True:
        tools = [{"name": NAME, "description": DESCRIPTION, "input_schema": PARAMETERS}]
        body = {"model": "policy", "max_tokens": 512, "system": SYSTEM, "tools": tools, "messages": given}
        if stream:
            with client.stream(**body) as events:
                message = events.get_final_message()
        else:
            message = client.create(**body)
        given.append({"role": "assistant", "content": message.content})
        uses = [block for block in message.content if block.type == "tool_use"]
        if not uses:
            return text(message)
        content = [
            {"type": "tool_result", "tool_use_id": use.id, "content": get_weather(**use.input)} for use in uses
        ]
        given.append({"role": "user", "content": content})


def tool_runner(base_url, key, stream):
    client = Anthropic(base_url=base_url, api_key=key)
    runner = client.beta.messages.tool_runner(
        model="policy",
        max_tokens=512,
        system=SYSTEM,
        stream=stream,
        messages=[{"role": "user", "content": QUESTION}],
        tools=[beta_tool(get_weather)],
    )
    last = None
    for one in runner:
        last = one.get_final_message() if stream else one
    return text(last)


AGENTS = {"messages": messages, "toolRunner": tool_runner}
