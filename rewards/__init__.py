"""How behaviour is scored: pure functions of (task, completion), declared in a recipe's `rewards:` list.

A reward is one module: an optional frozen dataclass `Config` and `score(task, completion, config) -> Score`.
"""
