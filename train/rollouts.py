"""Completions for TRL's trainer from a generator of ours, which follows the policy.

Before each generation phase the adapter of the moment is published to the engine under a new name; a
completion of any other version is an error. The seed of a completion depends on the recipe's seed, the step
and the completion's place among those of all ranks, so that neither ranks nor a resume change it.

Engines in the trainer's process are one per rank. Servers are asked by rank 0 alone, for all ranks: one
client knows their load.
"""

import asyncio
import contextlib
import dataclasses
import hashlib
import logging
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tasks.prompt
from rollout import environments, generators
from rollout.converse import Start, converse
from rollout.dialogue import Dialogue
from rollout.environments import Environment
from rollout.generators import FollowsPolicy, GenerationError, Generator, Needs, Request, Sampling
from rollout.seeds import derive
from tasks.tool_task import TaskSet
from train.adapter_files import save_adapter
from train.grpo_config import Config
from train.watchdog import Watchdog

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase
    from trl import GRPOConfig

    from train.grpo_trainer import Trainer

logger = logging.getLogger(__name__)

_MEMORY = Path("/dev/shm")
ASSUMED_ADAPTER = 2**30
"""Bytes of an adapter where the model's shape is not known."""

Wanted = tuple[int, int]
"""A completion to make: the row of the training set, and its seed."""


def build(
    config: Config,
    model: str,
    task_set: TaskSet,
    tokenizer: "PreTrainedTokenizerBase",
    arguments: "GRPOConfig",
    watchdog: Watchdog,
) -> "Rollouts | None":
    """What the recipe's `generator:` asks for, its engine started; None where TRL generates by itself.

    Raises InputError when an engine or a server cannot serve this run.
    """
    section = config.generator
    if section.kind == "transformers":
        return None
    ids = [tuple(tasks.prompt.prompt_ids(task, tokenizer)) for task in task_set.tasks]
    environment = environments.build(config.environment) if config.environment else None
    central = section.kind == "vllm_server"
    folder = publishing_folder(config.output_dir, arguments.process_index, central, needed=_needed(config))
    generator = None
    if not central or arguments.process_index == 0:
        needs = Needs(
            max_model_len=max(map(len, ids)) + arguments.max_completion_length,
            lora_rank=config.lora.r if config.lora else None,
            revision=config.model_revision,
        )
        if isinstance(section, generators.Vllm) and section.dtype == "auto":
            section = dataclasses.replace(section, dtype="bfloat16" if arguments.bf16 else config.dtype)
        generator, _ = generators.build(section, model, needs=needs)
    return Rollouts(
        generator,
        tuple(map(Start, task_set.tasks, ids)),
        tokenizer,
        environment,
        Sampling(arguments.max_completion_length, arguments.temperature),
        config.seed,
        folder,
        watchdog,
        central=central,
    )


def publishing_folder(output_dir: Path, rank: int, shared: bool = False, needed: int = 0) -> Path:
    """Where adapters are published: in memory if `needed` bytes are free, or where servers see them too."""
    beside = output_dir.absolute() / "published"
    if shared:
        return beside
    name = hashlib.sha256(str(output_dir.absolute()).encode()).hexdigest()[:12]
    folder = _MEMORY / f"askrl-{name}-rank{rank}"
    if not os.access(_MEMORY, os.W_OK):
        return beside / f"rank{rank}"
    shutil.rmtree(folder, ignore_errors=True)  # what a killed run left takes room as well
    free = shutil.disk_usage(_MEMORY).free
    if free < needed:
        logger.warning(
            "%s has %d MiB free and adapters need %d: they are published under %s, on disk",
            _MEMORY, free // 2**20, needed // 2**20, beside,
        )  # fmt: skip
        return beside / f"rank{rank}"
    return folder


def _needed(config: Config) -> int:
    """Bytes of the adapters that the ranks of this machine publish: the new one comes before the old goes."""
    from train.check.shapes import shape_of

    if config.lora is None:
        return 0
    shape = shape_of(config.model)
    one = 4 * shape.adapter_parameters(config.lora.r, config.lora.targets) if shape else ASSUMED_ADAPTER
    return 2 * one * int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


class Rollouts:
    """TRL's `rollout_func`, and the `sync_weights` of what it takes for its vLLM.

    `generator` is None on ranks that leave generation to rank 0. `starts` are the rows of the training set;
    with an `environment` each begins a dialogue, without one a single turn.
    """

    def __init__(
        self,
        generator: Generator | None,
        starts: Sequence[Start],
        tokenizer: "PreTrainedTokenizerBase",
        environment: Environment | None,
        sampling: Sampling,
        seed: int,
        folder: Path,
        watchdog: Watchdog,
        *,
        central: bool = False,
    ) -> None:
        self.generator, self.sampling, self.seed = generator, sampling, seed
        self.starts, self.tokenizer, self.environment = starts, tokenizer, environment
        self.folder, self.watchdog, self.central = folder, watchdog, central
        self.version = 0
        self._published: Path | None = None
        self._synced = self._asked = 0
        self._step = -1
        if generator is not None:
            shutil.rmtree(folder, ignore_errors=True)  # what a killed run left
        self.trainer: Trainer | None = None

    def attach(self, trainer: "Trainer") -> None:
        """The trainer whose policy is followed."""
        self.trainer = trainer

    def sync_weights(self) -> None:
        """Publish the policy of the moment; TRL calls it when the optimizer has moved."""
        trainer = self._trainer
        with self.watchdog.phase("sync"):
            self.version = trainer.state.global_step
            self._synced += 1
            folder = self.folder / f"step{self.version}-{self._synced}"
            policy = trainer.accelerator.unwrap_model(trainer.model)
            if not hasattr(policy, "peft_config"):  # of a script, which follows nothing
                self.version = 0
                return
            save_adapter(policy, folder, self.generator is not None)
            if self.generator is not None:
                if not isinstance(self.generator, FollowsPolicy):
                    raise TypeError(f"{type(self.generator).__name__} cannot follow a policy")
                asyncio.run(self.generator.load_adapter(folder, self.version))
                if self._published is not None:
                    shutil.rmtree(self._published)
                self._published = folder

    def __call__(self, prompts: Sequence[Any], trainer: "Trainer") -> dict[str, list[Any]]:
        """One completion for each row of this rank's slice (TRL repeats a prompt for each of its group)."""
        if trainer.state.global_step != self._step:
            self._step, self._asked = trainer.state.global_step, 0
        self._asked += 1
        first = trainer.accelerator.process_index * len(prompts)
        wanted = [
            (row["task_index"], derive(self.seed, self._step, self._asked, first + place))
            for place, row in enumerate(trainer.rows)
        ]
        found = self._generate(wanted)
        stale = {one.version for one in found} - {self.version}
        if stale:
            raise GenerationError(f"completions of policy version {stale}; the policy's is {self.version}")
        output: dict[str, list[Any]] = {
            "prompt_ids": [list(one.prompt_ids) for one in found],
            "completion_ids": [one.ids for one in found],
            "logprobs": [one.logprobs for one in found],
        }
        if self.environment is not None:
            output["env_mask"] = [one.mask for one in found]
            # What is scored is the last word: no reward reads what the environment said.
            output["final_text"] = [
                self.tokenizer.decode(list(one.turns()[-1]), skip_special_tokens=True) for one in found
            ]
        return output

    def close(self) -> None:
        """Let go of the engine and of the last published adapter."""
        if self.generator is not None:
            self.generator.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _generate(self, wanted: list[Wanted]) -> list[Dialogue]:
        if not self.central:
            return self._complete(wanted)
        from accelerate.utils import broadcast_object_list, gather_object

        accelerator = self._trainer.accelerator
        with contextlib.nullcontext() if accelerator.is_main_process else self.watchdog.waiting():
            everyone: list[Wanted] = gather_object(wanted)
            answers = [self._complete(everyone) if accelerator.is_main_process else None]
            broadcast_object_list(answers)
        first = accelerator.process_index * len(wanted)
        return (answers[0] or [])[first : first + len(wanted)]

    def _complete(self, wanted: list[Wanted]) -> list[Dialogue]:
        if self.generator is None:
            raise RuntimeError("this rank has no generator")
        starts = [dataclasses.replace(self.starts[row], seed=seed) for row, seed in wanted]
        if self.environment is not None:
            dialogues = converse(
                self.generator, self.tokenizer, self.environment, starts, self.sampling,
                concurrency=len(starts), on_turn=self.watchdog.beat,
            )  # fmt: skip
            return asyncio.run(dialogues)
        requests = [Request(start.prompt_ids, start.seed) for start in starts]
        turns = asyncio.run(self.generator.generate(requests, self.sampling, self._moved))
        found = [Dialogue(request.prompt_ids) for request in requests]
        for dialogue, turn in zip(found, turns, strict=True):
            dialogue.add_turn(turn)
        return found

    def _moved(self, index: int, what: object) -> None:
        self.watchdog.beat()

    @property
    def _trainer(self) -> "Trainer":
        if self.trainer is None:
            raise RuntimeError("attach a trainer first")
        return self.trainer
