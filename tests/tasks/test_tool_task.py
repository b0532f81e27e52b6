import pickle

from tasks.tool_schema import UNKNOWN, ToolCall, ToolSchema, parse_tool
from tasks.tool_task import ToolTask

WEATHER = parse_tool({"name": "weather", "description": "first", "parameters": {}})


def make(**changes: object) -> ToolTask:
    messages = (
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {"role": "assistant", "content": "Where?"},
        {"role": "user", "content": "In Leeds."},
    )
    values: dict[str, object] = {
        "id": "1",
        "messages": messages,
        "tools": (WEATHER,),
        "gold": "direct",
    } | changes
    return ToolTask(**values)  # type: ignore[arg-type]


def test_user_text_joins_the_users_turns() -> None:
    assert make().user_text == "Weather?\nIn Leeds."
    assert make(messages=()).user_text == ""


def test_tools_by_name() -> None:
    task = make(tools=(WEATHER, ToolSchema("weather", "second"), ToolSchema("news")))
    assert task.tool("weather") is WEATHER
    assert task.tool("news") == ToolSchema("news")
    assert task.tool("sport") is None


def test_tasks_compare_by_value_and_travel_between_processes() -> None:
    task = make(reference_call=ToolCall("weather", {"city": UNKNOWN}))
    copy = pickle.loads(pickle.dumps(task))
    assert copy == task
    assert copy.user_text == task.user_text
    assert copy.reference_call.arguments["city"] is UNKNOWN
    assert make(gold="cannot_answer") != task
