from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from task import QUESTION, SYSTEM, get_weather


def run(make, **more):
    def started(base_url, key, stream):
        model = ChatOpenAI(model="policy", base_url=f"{base_url}/v1", api_key=key, **more)
        agent = make(model, [tool(get_weather)])
        given = {"messages": [{"role": "user", "content": QUESTION}]}
        if not stream:
            return agent.invoke(given)["messages"][-1].text
        state = None
        for mode, value in agent.stream(given, stream_mode=["messages", "values"]):
            if mode == "values":
                state = value
        return state["messages"][-1].text

    return started


AGENTS = {
    "langgraph": run(lambda model, tools: create_react_agent(model, tools, prompt=SYSTEM)),
    "agent": run(lambda model, tools: create_agent(model, tools, system_prompt=SYSTEM)),
    "responses": run(
        lambda model, tools: create_agent(model, tools, system_prompt=SYSTEM), use_responses_api=True
    ),
}
