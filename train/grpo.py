"""Certainty-weighted GRPO on TRL's trainer (arXiv 2511.08798 §4; the update is arXiv 2402.03300).

What differs from a plain TRL script, and all that does:

* prompts carry the row's own tools: TRL renders one global tool list (trl#2809), so they are rendered here;
* completions may come from any generator, which follows the policy by its adapter, see `train.rollouts`;
* rewards come from the recipe, see `rewards`; all of them are computed in one pass over a batch;
* a row can weigh its advantages (`advantage.row_weight`): under group scaling a factor on the reward cancels;
* the run directory knows its recipe, resumes itself, and shows what the policy does, see `train.observe`.
"""

import logging
from typing import TYPE_CHECKING, Any

import tasks.prompt
from rewards import stack
from rewards.trl import reward_functions
from tasks import sources
from tasks.errors import InputError
from tasks.tool_task import TaskSet
from train import hardware, models
from train.grpo_config import Config, Lora
from train.model_card import write_card
from train.recipe import resolved
from train.run_dir import RunDir
from train.watchdog import Watchdog

if TYPE_CHECKING:
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import PreTrainedTokenizerBase
    from trl import GRPOConfig

    from train.grpo_trainer import Trainer
    from train.online import Config as OnlineConfig

__all__ = ["Config", "run"]

logger = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Train, and leave the policy (or its adapter) in `config.output_dir`.

    Raises InputError, before any heavy work, for bad rows, what is no model, and a folder of another run.
    """
    task_set = sources.load(config.task, "train", config.seed)
    models.check(config.model, config.model_revision)
    run_dir = RunDir.open(config.output_dir, resolved("train.grpo", config), task_set.hashes)
    if run_dir.finished:
        if run_dir.writer:
            print(f"{run_dir.path}: this run has finished, nothing is left to do under its recipe")
        return
    trainer = build(config, task_set, run_dir)
    try:
        trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
        trainer.save_model()
        write_card(run_dir, config)
        run_dir.finish(trainer.state.global_step)
        trainer.accelerator.wait_for_everyone()  # a rank that leaves early takes the process group with it
    finally:
        trainer.close()
    trainer.accelerator.end_training()


def build(config: Config, task_set: TaskSet, run_dir: RunDir) -> "Trainer":
    """The trainer of a run, ready to start; `close` it in the end."""
    from train import rollouts
    from train.grpo_trainer import Trainer
    from train.observe import Observer

    rewards = stack.build(config.rewards)
    arguments = training_arguments(config, rewards)
    model = models.locate(config.model, config.seed, arguments)
    tokenizer = models.tokenizer(model, config.model_revision)
    task_set = tasks.prompt.drop_long(task_set, tokenizer, config.max_prompt_length)
    dataset = prompts(task_set, tokenizer, arguments.generation_batch_size // arguments.num_generations)
    run_dir.write_json("tasks.json", task_set.counts)
    watchdog = Watchdog(config.watchdog_s, arguments.process_index, run_dir.path)
    source = None
    try:
        observer = Observer(run_dir, rewards, watchdog.read)
        source = rollouts.build(config, model, task_set, tokenizer, arguments, watchdog)
        trainer = Trainer(
            model=model,
            args=arguments,
            processing_class=tokenizer,
            train_dataset=dataset,
            reward_funcs=reward_functions(rewards, task_set.tasks, observer.observe),
            peft_config=lora(config.lora) if config.lora else None,
            row_weights=row_weights(config, task_set),
            rollouts=source,
            watchdog=watchdog,
        )
        observer.attach(trainer)
    except BaseException:  # nobody else could let go of an engine that runs by now
        watchdog.stop()
        if source is not None:
            source.close()
        raise
    return trainer


def training_arguments(config: Config, rewards: stack.RewardStack) -> "GRPOConfig":
    """TRL's own arguments: the recipe's `trainer:` section, and what the recipe says elsewhere."""
    return arguments_of(config, {"reward_weights": list(rewards.weights)})


def arguments_of(config: "Config | OnlineConfig", more: dict[str, Any]) -> "GRPOConfig":
    """TRL's arguments of a recipe that trains by GRPO, whatever is rewarded."""
    from trl import GRPOConfig

    named = {
        "ddp_find_unused_parameters": False,  # there are none, and looking for them takes a pass a step
        **hardware.defaults(),
        **config.trainer,
        **more,
        "output_dir": str(config.output_dir),
        "seed": config.seed,
        "remove_unused_columns": False,
        "model_init_kwargs": {"dtype": config.dtype, "revision": config.model_revision or "main"},
    }
    if named.get("use_cpu"):
        hardware.name_the_cpu()
    try:
        arguments = GRPOConfig(**named)
    except ValueError as error:  # what TRL finds wrong with values that each have the right type
        raise InputError(f"trainer: {error}") from error
    if arguments.use_cpu and arguments.deepspeed:
        hardware.join_deepspeed()
    return arguments


def prompts(task_set: TaskSet, tokenizer: "PreTrainedTokenizerBase", least: int = 1) -> "Dataset":
    """Rows of a rendered `prompt` and its `task_index`, by which rewards find the task again.

    One row a task; the tasks are repeated up to `least` rows (the prompts of one generation), because TRL
    drops a generation that is not full and would train on nothing at all.
    """
    from datasets import Dataset

    texts = [tasks.prompt.render_prompt(task, tokenizer) for task in task_set.tasks]
    rounds = -(-least // len(texts))
    if rounds > 1:
        logger.warning(
            "%d prompts are fewer than the %d of one generation: each stands %dx", len(texts), least, rounds
        )
    return Dataset.from_dict({"prompt": texts * rounds, "task_index": list(range(len(texts))) * rounds})


def lora(config: Lora) -> "LoraConfig":
    """PEFT's configuration of an adapter."""
    from peft import LoraConfig

    targets: Any = config.targets if isinstance(config.targets, str) else list(config.targets)
    return LoraConfig(
        r=config.r,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )


def row_weights(config: Config, task_set: TaskSet) -> list[float] | None:
    """Weight of each task's advantages, or None for TRL's own."""
    from rewards.label_certainty import label_reliability

    if config.advantage.row_weight == "none":
        return None
    rule, support = config.advantage.grounding, config.advantage.support
    return [label_reliability(task, rule, support) for task in task_set.tasks]
