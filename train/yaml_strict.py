"""YAML as recipes use it: no key twice, `1e-6` is a number, `no` is a word."""

import re
from collections.abc import Hashable
from typing import Any

import yaml
from yaml.constructor import ConstructorError

from tasks.errors import InputError

_BOOL, _DATE, _FLOAT = (f"tag:yaml.org,2002:{kind}" for kind in ("bool", "timestamp", "float"))


class _Loader(yaml.SafeLoader):
    """YAML 1.1 as PyYAML reads it, with the numbers and booleans of YAML 1.2 and without dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in (_BOOL, _DATE)]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                fault = "appears twice" if isinstance(key, str) else "is not text"
                raise ConstructorError(None, None, f"key {key!r} {fault}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
_Loader.add_implicit_resolver(
    _FLOAT, re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][-+]?[0-9]+$"), list("-+.0123456789")
)


def read_yaml(text: str, where: str) -> Any:
    """Parse one YAML document. Raises `InputError` with the line at fault; `where` names the source."""
    try:
        return yaml.load(text, _Loader)  # a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{where}{line}: {error.problem or error.context}") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{where}: not YAML: {error or type(error).__name__}") from error
