"""Whether two resolved recipes describe the same training: what may differ when a run is resumed."""

from collections.abc import Iterator
from typing import Any

from tasks.plain import plain as plain_values

MAX_STEPS = "trainer.max_steps"

# What a resumed run may change: where and how often it speaks, never what it computes. All under `trainer`.
LOGGING_KEYS = frozenset(
    """
    disable_tqdm log_completions log_completions_hub_repo log_level log_level_replica log_multimodal
    log_on_each_node log_unique_prompts logging_dir logging_first_step logging_nan_inf_filter logging_steps
    logging_strategy num_completions_to_print project report_to run_name save_total_limit trackio_bucket_id
    trackio_space_id trackio_static_space_id
    """.split()
)
# The folder itself, which may have been moved, under both of its names.
# And where an engine runs and how it is fed: a completion depends on its request alone.
FEEDING_KEYS = frozenset("concurrency gpu_memory_utilization patience_s timeout_s urls".split())
FREE_KEYS = frozenset(
    {
        "output_dir", "trainer.output_dir", "watchdog_s",
        *(f"trainer.{key}" for key in LOGGING_KEYS), *(f"generator.{key}" for key in FEEDING_KEYS),
    }
)  # fmt: skip

# Values of these keys, wherever they stand, are neither written nor compared.
SECRET_KEYS = frozenset("api_key auth_token hf_token hub_token password push_to_hub_token secret".split())


def plain(value: Any) -> Any:
    """The value as YAML knows it (mappings, lists, numbers, text), with secrets hidden."""
    return plain_values(value, _yaml_scalar, SECRET_KEYS)


def _yaml_scalar(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def differences(old: Any, new: Any) -> list[tuple[str, Any, Any]]:
    """The keys in which a resumed run may not differ but does, as (dotted name, old value, new value).

    Both are plain mappings. A key that is absent reads as null. `trainer.max_steps` may grow.
    """
    before, after = dict(_leaves(old)), dict(_leaves(new))
    names = [*after, *(name for name in before if name not in after)]
    pairs = [(name, before.get(name), after.get(name)) for name in names]
    return [pair for pair in pairs if not _agree(*pair)]


def essence(recipe: Any) -> dict[str, Any]:
    """Dotted names and values of what decides a run: a plain mapping without `FREE_KEYS` and secrets."""
    kept = {name: value for name, value in _leaves(recipe) if not _is_free(name)}
    return dict(sorted(kept.items()))


def _is_free(name: str) -> bool:
    return name in FREE_KEYS or name.rpartition(".")[2] in SECRET_KEYS


def _agree(name: str, old: Any, new: Any) -> bool:
    if _is_free(name):
        return True
    if name == MAX_STEPS and _is_count(old) and _is_count(new):
        return bool(new >= old)
    if isinstance(old, bool) or isinstance(new, bool):
        return old is new
    try:  # 1e-6, which YAML reads as text, and 1.0e-6 are one number
        return old == new or float(old) == float(new)
    except (TypeError, ValueError):
        return False


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted names and values, as in `rewards.0.weight`. A list without mappings counts as one value."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(inner, dict) for inner in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{name}.{number}")
    elif value is not None:
        yield name, value
