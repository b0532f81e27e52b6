"""Certainty-weighted GRPO on TRL's trainer (arXiv 2511.08798 §4; the update is arXiv 2402.03300).

What differs from a plain TRL script, and all that does:

* prompts carry the row's own tools: TRL renders one global tool list (trl#2809), so they are rendered here;
* rewards come from the recipe, see `rewards`; all of them are computed in one pass over a batch;
* a row can weigh its advantages (`advantage.row_weight`): under group scaling a factor on the reward cancels;
* the run directory knows its recipe, resumes itself, and shows what the policy does, see `train.observe`.
"""

import dataclasses
import logging
from typing import TYPE_CHECKING, Any

import tasks.prompt
from rewards import stack
from rewards.trl import reward_functions
from tasks import sources
from tasks.tool_task import TaskSet
from train import hardware
from train.grpo_config import Config, Lora
from train.recipe import resolved
from train.run_dir import RunDir

if TYPE_CHECKING:
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import PreTrainedTokenizerBase
    from trl import GRPOConfig, GRPOTrainer

__all__ = ["Config", "run"]

logger = logging.getLogger(__name__)


def run(config: Config) -> None:
    """Train, and leave the policy (or its adapter) in `config.output_dir`. Raises InputError before any heavy work."""
    task_set = sources.load(config.task, "train", config.seed)
    run_dir = RunDir.open(config.output_dir, resolved("train.grpo", config), task_set.hashes)
    trainer = build(config, task_set, run_dir)
    trainer.train(resume_from_checkpoint=str(run_dir.checkpoint) if run_dir.checkpoint else None)
    trainer.save_model()
    trainer.accelerator.end_training()


def build(config: Config, task_set: TaskSet, run_dir: RunDir) -> "GRPOTrainer":
    """The trainer of a run, ready to start."""
    from transformers import AutoTokenizer

    from train.grpo_trainer import RowWeightedGRPOTrainer
    from train.models import locate
    from train.observe import Observer

    rewards = stack.build(config.rewards)
    arguments = training_arguments(config, rewards)
    model = locate(config.model, config.seed, arguments)
    tokenizer = AutoTokenizer.from_pretrained(model, revision=config.model_revision, padding_side="left")
    task_set = tasks.prompt.drop_long(task_set, tokenizer, config.max_prompt_length)
    run_dir.write_json("tasks.json", task_set.counts)
    observer = Observer(run_dir, rewards)
    trainer = RowWeightedGRPOTrainer(
        model=model,
        args=arguments,
        processing_class=tokenizer,
        train_dataset=prompts(task_set, tokenizer),
        reward_funcs=reward_functions(rewards, task_set.tasks, observer.observe),
        peft_config=lora(config.lora) if config.lora else None,
        row_weights=row_weights(config, task_set),
    )
    observer.attach(trainer)
    return trainer


def training_arguments(config: Config, rewards: stack.RewardStack) -> "GRPOConfig":
    """TRL's own arguments: the recipe's `trainer:` section, and what the recipe says elsewhere."""
    from trl import GRPOConfig

    return GRPOConfig(
        **{
            **hardware.defaults(),
            **config.trainer,
            "output_dir": str(config.output_dir),
            "seed": config.seed,
            "reward_weights": list(rewards.weights),
            "remove_unused_columns": False,
            "model_init_kwargs": {"dtype": config.dtype, "revision": config.model_revision or "main"},
        }
    )


def prompts(task_set: TaskSet, tokenizer: "PreTrainedTokenizerBase") -> "Dataset":
    """One row a task: the rendered `prompt`, and `task_index` by which rewards find the task again."""
    from datasets import Dataset

    texts = [tasks.prompt.render_prompt(task, tokenizer) for task in task_set.tasks]
    return Dataset.from_dict({"prompt": texts, "task_index": list(range(len(texts)))})


def lora(config: Lora) -> "LoraConfig":
    """PEFT's configuration of an adapter."""
    from peft import LoraConfig

    targets: Any = config.targets if isinstance(config.targets, str) else list(config.targets)
    return LoraConfig(
        r=config.r, lora_alpha=config.alpha, lora_dropout=config.dropout, target_modules=targets, task_type="CAUSAL_LM"
    )  # fmt: skip


def row_weights(config: Config, task_set: TaskSet) -> list[float] | None:
    """Weight of each task's advantages, or None for TRL's own."""
    from rewards.label_certainty import label_reliability

    if config.advantage.row_weight == "none":
        return None
    options = dataclasses.astuple(config.advantage)[1:]
    return [label_reliability(task, *options) for task in task_set.tasks]
