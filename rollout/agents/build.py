"""From the role sections of a recipe to roles, one engine for each model."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rollout import generators
from rollout.agents import templates
from rollout.agents.config import MiniRole, ModelRole, Role
from rollout.agents.drafter import ModelAnswerer, ModelDrafter
from rollout.agents.memo import Memo, MemoAnswerer, MemoDrafter
from rollout.agents.protocol import Answerer, Drafter, Questioner, Roles
from rollout.agents.questioner import MOVE_SCHEMA, ModelQuestioner
from rollout.agents.speaker import Speaker
from rollout.generators import Generator, checkpoint
from rollout.generators.gathered import Gathered
from tasks.plain import plain

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

MOVE, RESOLVE, DRAFT = 400, 300, 700
"""New tokens of a move, of an answer to the questioner, and of drafts and final answers."""


@dataclass(slots=True)
class Engines:
    """The engines of a recording; each model, adapter and generator is loaded once."""

    built: "dict[str, tuple[Generator, PreTrainedTokenizerBase]]" = field(default_factory=dict)

    def speaker(self, role: ModelRole, new_tokens: int, schema: str | None = None) -> Speaker:
        """A speaker of the role's model."""
        key = json.dumps([role.model, str(role.adapter), plain(role.generator)])
        if key not in self.built:
            generator, words = generators.build(role.generator, role.model, role.adapter)
            if role.generator.kind == "transformers":
                generator = Gathered(generator)
            self.built[key] = generator, words
        limit = (role.max_new_tokens or new_tokens) * role.thinking_factor
        return Speaker(*self.built[key], limit, role.temperature, schema)

    def close(self) -> None:
        """Let go of all."""
        for generator, _ in self.built.values():
            generator.close()


@dataclass(frozen=True, slots=True)
class Built:
    """Roles that are ready to play; `pins` are what their words depend on."""

    roles: Roles
    pins: dict[str, str]
    memo: Memo
    engines: Engines
    speaker: Speaker | None
    """The questioner's model, for baselines that prompt it in their own way."""

    def close(self) -> None:
        """Let go of engines and memo."""
        self.engines.close()
        self.memo.close()


def build_roles(
    questioner: Role, drafter: Role, answerer: Role, *, word_cap: int, memo_folder: Path | None
) -> Built:
    """Load what the roles need. Raises InputError, with nothing left running."""
    engines = Engines()
    try:
        speaker = None
        if isinstance(questioner, ModelRole):
            speaker = engines.speaker(questioner, MOVE, MOVE_SCHEMA if questioner.constrained else None)
        pins = {"questioner": pin(questioner), "drafter": pin(drafter), "answerer": pin(answerer)}
        memo = Memo(memo_folder)
        roles = Roles(
            _questioner(questioner, speaker),
            MemoDrafter(_drafter(drafter, engines), memo, pins["drafter"]),
            MemoAnswerer(_answerer(answerer, engines, word_cap), memo, f"{pins['answerer']}/{word_cap}"),
        )
    except BaseException:
        engines.close()
        raise
    return Built(roles, pins, memo, engines, speaker)


def pin(role: Role) -> str:
    """What a role's words depend on: model, adapter, sampling and prompts, not how an engine is fed."""
    if isinstance(role, MiniRole):
        return f"mini/{role.slip:g}/{role.eager:g}"
    identity = checkpoint.identity(role.generator, role.model, role.adapter)
    limit = (
        str(role.max_new_tokens * role.thinking_factor) if role.max_new_tokens else f"x{role.thinking_factor}"
    )
    sampling = f"{limit}/{role.temperature:g}/{role.constrained}"
    name = Path(role.model).name + (f"+{role.adapter.name}" if role.adapter else "")
    return f"{name}/{identity[:16]}/{role.generator.kind}/{sampling}/{templates.prompts_hash()}"


def _questioner(role: Role, speaker: Speaker | None) -> Questioner:
    if speaker is not None:
        return ModelQuestioner(speaker)
    from rollout.agents.mini import Walker

    assert isinstance(role, MiniRole)
    return Walker(role.slip, role.eager)


def _drafter(role: Role, engines: Engines) -> Drafter:
    if isinstance(role, ModelRole):
        return ModelDrafter(engines.speaker(role, RESOLVE), engines.speaker(role, DRAFT))
    from rollout.agents.mini import MiniDrafter

    return MiniDrafter()


def _answerer(role: Role, engines: Engines, word_cap: int) -> Answerer:
    if isinstance(role, ModelRole):
        return ModelAnswerer(engines.speaker(role, DRAFT), word_cap)
    from rollout.agents.mini import MiniAnswerer

    return MiniAnswerer()
