import asyncio

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool, set_tracing_disabled
from task import QUESTION, SYSTEM, get_weather

set_tracing_disabled(True)
# Its HTTP client outlives a run.
LOOP = asyncio.new_event_loop()


def run(use_responses):
    async def started(base_url, key, stream):
        agent = Agent(name="w", instructions=SYSTEM, model="policy", tools=[function_tool(get_weather)])
        provider = OpenAIProvider(base_url=f"{base_url}/v1", api_key=key, use_responses=use_responses)
        config = RunConfig(model_provider=provider, tracing_disabled=True)
        if not stream:
            return (await Runner.run(agent, QUESTION, run_config=config)).final_output
        streamed = Runner.run_streamed(agent, QUESTION, run_config=config)
        async for _ in streamed.stream_events():
            pass
        return streamed.final_output

    return lambda *how: LOOP.run_until_complete(started(*how))


AGENTS = {"responses": run(True), "chat": run(False)}
