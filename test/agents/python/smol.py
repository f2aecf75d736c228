from smolagents import LogLevel, OpenAIServerModel, ToolCallingAgent, tool
from task import QUESTION, get_weather


def run(base_url, key, stream):
    model = OpenAIServerModel(model_id="policy", api_base=f"{base_url}/v1", api_key=key)
    agent = ToolCallingAgent(
        tools=[tool(get_weather)],
        model=model,
        max_steps=6,
        stream_outputs=stream,
        verbosity_level=LogLevel.OFF,
    )
    return agent.run(QUESTION)


AGENTS = {"toolCalling": run}
