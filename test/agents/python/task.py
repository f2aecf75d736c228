"""The question that all agents are asked, and their one tool."""

SYSTEM = "Answer with the tool."
QUESTION = "How is the weather in Zürich?"
NAME = "get_weather"
DESCRIPTION = "The weather of a city in n days"
PARAMETERS = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Its name"},
        "n": {"type": "number", "description": "Days"},
    },
    "required": ["city", "n"],
    "additionalProperties": False,
}


def get_weather(city: str, n: float) -> str:
    """The weather of a city in n days.

    Args:
        city: Its name
        n: Days
    """
    return f"{city} in {n:g} days: 21 °C"
