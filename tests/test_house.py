"""The shape of the house: imports run one way, heavy libraries load late, every module has a docstring."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("tasks", "rollout", "rewards", "eval", "train")
MAY_IMPORT = {
    "tasks": {"tasks"},
    "rollout": {"tasks", "rollout"},
    "rewards": {"tasks", "rollout", "rewards"},
    "eval": {"tasks", "rollout", "rewards", "eval"},
    "train": set(ROOMS),
}
HEAVY = {"torch", "transformers", "trl", "vllm", "peft", "accelerate", "datasets", "deepspeed", "matplotlib"}
FILES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imported(nodes: list[ast.AST]) -> set[str]:
    """Top-level names of the absolute imports among `nodes`."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
    return names


def at_import(tree: ast.Module) -> list[ast.AST]:
    """The nodes that run when the module is imported: no function bodies, no `if TYPE_CHECKING:` blocks."""
    found: list[ast.AST] = []
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            todo += node.orelse
            continue
        found.append(node)
        todo += ast.iter_child_nodes(node)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_keeps_to_its_room(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    room = path.relative_to(ROOT).parts[0]
    wrong = imported(list(ast.walk(tree))) & {*ROOMS, "recipes", "tests"} - MAY_IMPORT[room]
    assert not wrong, f"{room} must not import {sorted(wrong)}"
    assert ast.get_docstring(tree), "a module opens with one line that says what it is for"
    if room in ("tasks", "rewards"):
        heavy = imported(at_import(tree)) & HEAVY
        assert not heavy, f"import {sorted(heavy)} inside the function that needs it"


def loaded_by(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has loaded after `code`."""
    code += f"\nimport sys; print('loaded:', *sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    return set(done.stdout.rsplit("loaded:", 1)[1].split())


def test_tasks_and_rewards_load_nothing_heavy() -> None:
    names = [str(path.relative_to(ROOT).with_suffix("")).replace("/", ".") for path in FILES]
    light = [name.removesuffix(".__init__") for name in names if name.startswith(("tasks.", "rewards."))]
    assert light
    assert loaded_by(f"import importlib\nfor name in {light!r}: importlib.import_module(name)") == set()


def test_help_loads_nothing_heavy() -> None:
    code = "import sys\nfrom train.cli import main\nsys.argv = ['askrl', '--help']\n"
    code += "try:\n main()\nexcept SystemExit as end:\n assert not end.code"
    assert loaded_by(code) == set()
