"""GRPO of the questioner on its own runs, rewarded by consequences (beyond arXiv 2609.37236).

A group is so many moves at one state of a run of the policy of the moment, so group-relative advantages need
nothing more: all share the prompt. It starts from the base with a new adapter (`lora:`) or goes on with one
(`adapter:`, such as that of a stage before).
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rewards.consequence.returns import Return
from rollout import generators
from rollout.agents.config import Role
from rollout.episode import Limits
from tasks import multi_hop_sources
from tasks.errors import InputError
from tasks.multi_hop import MultiHopSet
from train.grpo_config import OURS, Lora
from train.ranges import check_seed, check_trainer
from train.trl_fields import Trl, trainer_arguments

if TYPE_CHECKING:
    from train.grpo_trainer import Trainer
    from train.run_dir import RunDir

REFUSED = {
    **OURS,
    "reward_weights": "there is one reward",
    "eval_strategy": "evaluation is a recording of its own",
}


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: train.online` recipe; `trainer` takes the names of TRL's GRPOConfig."""

    TRL: ClassVar[Trl] = "GRPOConfig"

    model: str
    task: Mapping[str, Any]
    drafter: Role
    output_dir: Path
    answerer: Role | None = None
    """By default the drafter's model."""
    adapter: Path | None = None
    """Where the policy starts from; null with `lora` for a new adapter."""
    lora: Lora | None = None
    model_revision: str | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "float32"
    generator: generators.Config = field(default_factory=generators.Transformers)
    """What plays the policy; `transformers` is the policy itself, in the trainer's process."""
    reward: Return = field(default_factory=Return)
    cap: int = 8
    max_turns: int = 16
    k: int | None = None
    """Paragraphs that a question fetches; by default the suite's own number."""
    max_model_len: int = 6144
    """Of a prompt and a move, for an engine that has to know."""
    trainer: Mapping[str, Any] = field(default_factory=dict)
    watchdog_s: float | None = 1800.0
    seed: int = 0

    def __post_init__(self) -> None:
        for key, reason in REFUSED.items():
            if key in self.trainer:
                raise InputError(f"trainer.{key} is not for a recipe: {reason}")
        if self.lora is not None and self.adapter is not None:
            raise InputError("give either lora, for a new adapter, or adapter, to go on with one")
        if self.trainer.get("beta"):
            raise InputError(
                "trainer.beta is above 0: the reference would be the base model, not the policy that the "
                "training starts from; leave it 0"
            )
        Limits(self.cap, self.max_turns, 1 if self.k is None else self.k)
        object.__setattr__(self, "trainer", trainer_arguments(self.trainer, self.TRL))
        check_trainer(self.trainer)
        check_seed("seed", self.seed)

    def missing(self) -> Iterator[str]:
        """What a run needs and the recipe leaves to the command line."""
        if self.adapter is None and self.lora is None:
            yield "adapter is not given; set adapter=FOLDER, what a stage left, or lora={r: 32, alpha: 64}"

    def preflight(self, world: int) -> None:
        """Raise `InputError` for what cannot run on `world` ranks."""
        for told in (*self.faults(world), *self.missing()):
            raise InputError(told)

    def report(self, world: int) -> Iterator[tuple[str, list[str]]]:
        """What `askrl check` tells, as (title, lines). Raises `InputError` for what cannot run at all."""
        for told in self.faults(world):
            raise InputError(told)
        size = self.group
        device = int(self.trainer.get("per_device_train_batch_size") or 8)
        yield (
            f"batch on {world} rank{'s' if world > 1 else ''}",
            [f"{device * world // size} states a generation, {size} moves at each"],
        )
        yield "known failures", [f"missing: {told}" for told in self.missing()] or ["none"]

    @property
    def group(self) -> int:
        """Moves at a state."""
        return int(self.trainer.get("num_generations") or 8)

    def faults(self, world: int) -> Iterator[str]:
        """What stands against a recipe, whatever its data."""
        device = int(self.trainer.get("per_device_train_batch_size") or 8)
        steps = int(self.trainer.get("gradient_accumulation_steps") or 1)
        if device * steps % self.group:
            yield (
                f"a rank makes {device * steps} moves a step, and a group of num_generations {self.group} "
                "is made on one rank; let per_device_train_batch_size x gradient_accumulation_steps be a "
                "multiple of it"
            )
        sharded = bool(self.trainer.get("fsdp") or self.trainer.get("deepspeed"))
        if sharded and self.generator.kind == "transformers":
            yield "generator: a sharded policy cannot play by itself; take generator: {kind: vllm}"
        if self.generator.kind == "vllm_server" and world > 1:
            yield "generator: with a server one rank plays; take {kind: vllm} on several ranks"


def run(config: Config) -> None:
    """Train, and leave the adapter, its card and its lineage in `config.output_dir`.

    Raises InputError, before any heavy work, for a bad task, another base, and a folder of another run.
    """
    from train import lineage, models
    from train.recipe import resolved
    from train.run_dir import RunDir
    from train.stage_card import write_card

    tasks = multi_hop_sources.load(config.task, config.seed)
    models.check(config.model, config.model_revision)
    arguments = training_arguments(config)
    model = models.locate(config.model, config.seed, arguments)
    base = lineage.base_of(config.model, model, config.model_revision)
    hashes = dict(tasks.hashes)
    if config.adapter is not None:
        lineage.check_base(config.adapter, model, base)
        hashes["adapter"] = lineage.weights_digest(config.adapter)
    recipe = resolved("train.online", config)
    run_dir = RunDir.open(config.output_dir, recipe, hashes)
    if run_dir.finished:
        if run_dir.writer:
            print(f"{run_dir.path}: this run has finished, nothing is left to do under its recipe")
        return
    run_dir.write_json(lineage.LINEAGE, lineage.lineage(base, config.adapter, tasks.hashes, recipe))
    trainer, engines = build(config, tasks, model, arguments, run_dir)
    try:
        trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
        trainer.save_model()
        write_card(run_dir, config, {"tasks": len(tasks.tasks)})
        run_dir.finish(trainer.state.global_step)
        trainer.accelerator.wait_for_everyone()
    finally:
        engines.close()
    trainer.accelerator.end_training()


def build(
    config: Config, tasks: MultiHopSet, model: str, arguments: Any, run_dir: "RunDir"
) -> "tuple[Trainer, ExitStack]":
    """The trainer, ready to start, and what to close in the end."""
    from datasets import Dataset

    from rollout.agents.build import build_roles
    from rollout.record import suite_of
    from train import grpo, models, rollouts, stage_models
    from train.grpo_trainer import Trainer
    from train.online_rollouts import EpisodeRollouts, Frozen
    from train.stage_log import StageLog
    from train.stage_run import Parts
    from train.watchdog import Watchdog

    suite = suite_of(tasks)
    tokenizer = models.tokenizer(model, config.model_revision)
    k = config.k if config.k is not None else multi_hop_sources.top_k(suite)
    seen_by_servers = config.generator.kind == "vllm_server"
    folder = rollouts.publishing_folder(config.output_dir, arguments.process_index, seen_by_servers)
    questions = {
        "prompt": [one.question.text for one in tasks.tasks],
        "task_index": list(range(len(tasks.tasks))),
    }
    with ExitStack() as stack:  # nobody else could let go of an engine that runs when something fails
        watchdog = Watchdog(config.watchdog_s, arguments.process_index, run_dir.path)
        stack.callback(watchdog.stop)
        # The drafter stands for the questioner, which is the policy itself.
        built = build_roles(
            config.drafter, config.drafter, config.answerer or config.drafter,
            word_cap=multi_hop_sources.word_cap(suite), memo_folder=None,
        )  # fmt: skip
        stack.callback(built.close)
        frozen = Frozen(built.roles.drafter, built.roles.answerer, Limits(config.cap, config.max_turns, k))
        sampling = generators.Sampling(arguments.max_completion_length, arguments.temperature)
        source = EpisodeRollouts(
            _engine(config, model), tasks.tasks, tokenizer, frozen, config.reward, sampling, config.seed,
            folder, watchdog,
        )  # fmt: skip
        stack.callback(source.close)
        if config.adapter is not None:
            policy: dict[str, Any] = {"model": stage_models.with_adapter(config, Parts(model, arguments))}
        else:
            assert config.lora is not None  # `preflight` wants one of them
            policy = {"model": model, "peft_config": grpo.lora(config.lora)}
        log = StageLog(run_dir)
        trainer = Trainer(
            **policy, args=arguments, processing_class=tokenizer, train_dataset=Dataset.from_dict(questions),
            reward_funcs=[consequence], rollouts=source, watchdog=watchdog,
        )  # fmt: skip
        log.attach(trainer)
        return trainer, stack.pop_all()


def _engine(config: Config, model: str) -> "generators.Generator | None":
    """What plays the policy; None where it plays itself."""
    from train import stage_models

    if config.generator.kind == "transformers":
        return None
    rank = config.lora.r if config.lora else stage_models.rank_of(config.adapter)
    needs = generators.Needs(config.max_model_len, lora_rank=rank, revision=config.model_revision)
    return generators.build(config.generator, model, needs=needs)[0]


def consequence(
    completions: list[Any], consequence: list[float | None], **columns: Any
) -> list[float | None]:
    """What the rollouts have found each move to be worth, for TRL."""
    return consequence


def training_arguments(config: Config) -> Any:
    """TRL's own arguments: the recipe's `trainer:` section, and what the recipe says elsewhere."""
    from train import grpo

    return grpo.arguments_of(config, {})
