"""Combinations that are known to fail, or to disappoint, with the upstream issue that says so."""

import importlib.util
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rollout.generators import Vllm
from rollout.generators.adapter import check_targets, engine_rank
from tasks.errors import InputError
from train.check import fsdp
from train.check.batch import Batch
from train.check.deepspeed import Zero
from train.grpo_config import Config

Level = Literal["refused", "missing", "warning"]


@dataclass(frozen=True, slots=True)
class Run:
    """What the rules look at."""

    config: Config
    batch: Batch
    zero: Zero

    def __getitem__(self, key: str) -> object:
        return self.config.trainer.get(key)

    def number(self, key: str, default: float) -> float:
        """A numeric trainer argument, or TRL's default."""
        value = self[key]
        return float(value) if isinstance(value, int | float) else default

    @property
    def generation_kwargs(self) -> Mapping[str, Any]:
        """`trainer.generation_kwargs`, a mapping or its JSON; empty where it is neither, which TRL tells."""
        given = self["generation_kwargs"]
        if isinstance(given, str):
            try:
                given = json.loads(given)
            except ValueError:
                return {}
        return given if isinstance(given, Mapping) else {}

    @property
    def vllm(self) -> bool:
        """TRL runs vLLM."""
        return bool(self["use_vllm"])

    @property
    def colocated(self) -> bool:
        """The engine shares the trainer's GPUs."""
        return self.vllm and self["vllm_mode"] in (None, "colocate")

    @property
    def engine(self) -> bool:
        """The recipe's `generator:` is an engine that follows the policy by its adapter."""
        return self.config.generator.kind != "transformers"

    @property
    def corrected(self) -> bool:
        """The importance correction for an engine's log-probabilities is on, as by default."""
        return (self.vllm or self.engine) and self["vllm_importance_sampling_correction"] is not False


@dataclass(frozen=True, slots=True)
class Finding:
    """`refused` stops check and run, `missing` stops the run, `warning` is said."""

    level: Level
    message: str
    issue: str = ""

    def __str__(self) -> str:
        return f"{self.message} ({self.issue})" if self.issue else self.message


@dataclass(frozen=True, slots=True)
class _Rule:
    level: Level
    applies: Callable[[Run], bool]
    message: str
    issue: str = ""


def _truncated(run: Run) -> bool:
    """Whether the engine draws from another distribution than the policy's at the trainer's temperature."""
    heat = run.number("temperature", 1.0)
    given = {**run.config.trainer, **run.generation_kwargs}  # TRL's order: the latter win
    rules: tuple[tuple[str, Callable[[float], bool]], ...] = (
        ("top_p", lambda value: value < 1.0),
        ("top_k", lambda value: value > 0),
        ("min_p", lambda value: value > 0.0),
        ("repetition_penalty", lambda value: value != 1.0),
        ("presence_penalty", lambda value: value != 0.0),
        ("frequency_penalty", lambda value: value != 0.0),
        ("temperature", lambda value: value != heat),
    )
    bends = (isinstance(given.get(key), int | float) and bends(given[key]) for key, bends in rules)
    return any(bends) or any(given.get(key) is not None for key in _GRAMMARS)


_GRAMMARS = (
    *("vllm_structured_outputs_regex", "structured_outputs"),
    *("allowed_token_ids", "bad_words", "logit_bias"),
)


def _quantised(run: Run) -> bool:
    model = run.config.model
    if re.search(r"4-?bit|awq|gptq", model.rpartition("/")[2], re.IGNORECASE):
        return True
    file = Path(model) / "config.json"
    try:
        return Path(model).is_absolute() and "quantization_config" in json.loads(
            file.read_text(encoding="utf-8")
        )
    except (OSError, ValueError):
        return False


def _splits_generation(run: Run) -> bool:
    steps, every = run.batch.updates_per_generation, run.number("save_steps", 500)
    return steps > 1 and every >= 1 and every % steps != 0 and run["save_strategy"] in (None, "steps")


def _unserved(run: Run) -> str:
    """Why vLLM cannot serve the adapter of this recipe, if it cannot."""
    lora = run.config.lora
    if lora is None or run.config.generator.kind not in ("vllm", "vllm_server"):
        return ""
    try:
        check_targets(lora.targets)
        engine_rank(lora.r)
    except InputError as error:
        return str(error)
    return ""


def _too_long(run: Run) -> bool:
    section, prompt = run.config.generator, run.config.max_prompt_length
    if not isinstance(section, Vllm) or section.max_model_len is None or prompt is None:
        return False
    return prompt + run.number("max_completion_length", 512) > section.max_model_len


_RULES = (
    _Rule(
        "refused",
        lambda run: run.engine and run.vllm,
        "generator is an engine and trainer.use_vllm asks TRL for another; drop one of them",
    ),
    _Rule(
        "refused",
        lambda run: run.engine and run.config.lora is None and run.config.generator.kind != "scripted",
        "an engine follows the policy by its LoRA adapter, and lora is null; for full fine-tuning set "
        "generator.kind=transformers with TRL's own engine: trainer.use_vllm=true and trainer.vllm_mode "
        "colocate or server",
    ),
    _Rule(
        "refused",
        lambda run: run.config.environment is not None and not run.engine,
        "an environment needs a generator that is asked turn by turn: generator.kind vllm or vllm_server",
    ),
    _Rule(
        "refused",
        lambda run: run.engine and _truncated(run),
        "truncated or penalised sampling (top_p, top_k, min_p, repetition_penalty, a grammar) biases the "
        "importance ratio, and generators do without; remove it from trainer",
        "huggingface/trl#6789",
    ),
    _Rule(
        "refused",
        lambda run: run.engine and bool(run.generation_kwargs) and not _truncated(run),
        "trainer.generation_kwargs are for TRL's own generation, and generator is an engine; remove them",
    ),
    _Rule(
        "refused",
        _too_long,
        "generator.max_model_len is less than max_prompt_length and trainer.max_completion_length together; "
        "raise it, or leave it out: it is then what the run needs",
    ),
    _Rule(
        "warning",
        lambda run: run.config.generator.kind == "vllm_server" and run.config.model_revision is not None,
        "the servers have to be started with --revision of model_revision, which cannot be asked of them",
    ),
    _Rule(
        "warning",
        lambda run: (
            isinstance(run.config.generator, Vllm)
            and run.config.generator.gpu_memory_utilization > 0.5
            and run["use_cpu"] is not True
        ),
        "an engine beside the trainer that takes more than half of the card leaves it little; "
        "generator.gpu_memory_utilization=0.3 is a good start",
    ),
    _Rule(
        "refused",
        lambda run: run.vllm and run.corrected and _truncated(run),
        "truncated or penalised sampling (top_p, top_k, min_p, repetition_penalty, a grammar) biases the "
        "importance ratio; sample untruncated or set trainer.vllm_importance_sampling_correction=false",
        "huggingface/trl#6789",
    ),
    _Rule(
        "refused",
        lambda run: run.vllm and _quantised(run),
        "a quantised model with vLLM: each sync merges the adapter into 4-bit weights and loses it in "
        "rounding; use the unquantised model or trainer.use_vllm=false",
        "huggingface/trl#3133, huggingface/peft#297",
    ),
    _Rule(
        "refused",
        lambda run: run["use_liger_kernel"] is True and run.corrected,
        "the fused Liger loss ignores the importance ratio; set trainer.use_liger_kernel=false",
        "linkedin/Liger-Kernel#1088",
    ),
    _Rule(
        "refused",
        lambda run: run.config.lora is not None and "lm_head" in run.config.lora.targets,
        "LoRA on lm_head: TRL rejects it and engines drop it silently; remove it from lora.targets",
    ),
    _Rule(
        "refused",
        lambda run: run["auto_find_batch_size"] is True,
        "trainer.auto_find_batch_size breaks the groups of a prompt, so TRL rejects it; lower "
        "trainer.per_device_train_batch_size instead",
    ),
    _Rule(
        "refused",
        lambda run: run.colocated and run["use_cpu"] is True,
        "colocated vLLM on the CPU fails at its first weight sync; set trainer.use_vllm=false",
    ),
    _Rule(
        "refused",
        lambda run: run["bf16"] is True and run["fp16"] is True,
        "trainer.bf16 and trainer.fp16 exclude one another; set one of them to false",
    ),
    _Rule(
        "refused",
        lambda run: run.zero.micro_batch not in (None, run.batch.per_device),
        "trainer.deepspeed sets another train_micro_batch_size_per_gpu than "
        'trainer.per_device_train_batch_size; write "auto" there',
    ),
    _Rule(
        "warning",
        lambda run: run.vllm and run.config.lora is not None and run.zero.stage == 3,
        "ZeRO-3 with LoRA and vLLM gathers the full model at every sync; ZeRO-2 or plain data parallel serve "
        "LoRA up to about 14B",
        "huggingface/trl#5766",
    ),
    _Rule(
        "warning",
        lambda run: run.colocated and run.config.lora is not None,
        "colocated vLLM with a LoRA hangs in generation on some cards; the transformers generator does not",
        "huggingface/trl#3671",
    ),
    _Rule(
        "warning",
        lambda run: run.colocated and run.number("vllm_gpu_memory_utilization", 0.3) > 0.3,
        "a colocated vLLM that takes more than 0.3 of the card runs out of memory easily",
        "huggingface/trl#2688, #3523",
    ),
    _Rule(
        "warning",
        lambda run: run.vllm and run.config.max_prompt_length is None,
        "no max_prompt_length: a prompt longer than the engine allows stops the run",
        "huggingface/trl#3569",
    ),
    _Rule(
        "warning",
        lambda run: (
            run.corrected
            and run["vllm_importance_sampling_mode"] in (None, "sequence_mask")
            and run.number("max_completion_length", 512) > 1024
        ),
        "the default correction drops long completions whole; consider "
        "trainer.vllm_importance_sampling_mode=token_truncate",
        "huggingface/trl#4772",
    ),
    _Rule(
        "warning",
        lambda run: run["importance_sampling_level"] == "sequence",
        "the variance of a sequence-level ratio grows with the length; keep completions short",
        "huggingface/trl#5815",
    ),
    _Rule(
        "warning",
        lambda run: run.config.lora is not None and run.number("learning_rate", 1e-6) < 2e-6,
        "a LoRA learns nothing at a full-tuning rate; take about ten times more",
        "huggingface/trl#2872",
    ),
    _Rule(
        "missing",
        lambda run: bool(run["fsdp"]) and run.batch.world == 1 and run["use_cpu"] is not True,
        "trainer.fsdp shards over ranks, and there is one: launch several, or check with --num-processes",
    ),
    _Rule(
        "refused",
        lambda run: run.engine and fsdp.version(run.config.trainer) == 1,
        "an engine is given the whole adapter, of which FSDP1 leaves each rank a slice; set "
        "trainer.fsdp_config.version=2",
    ),
    _Rule(
        "warning",
        lambda run: bool(run["fsdp"]) and run["use_cpu"] is True,
        "FSDP on the CPU runs as plain data parallel",
    ),
    _Rule(
        "warning",
        lambda run: bool(run["fsdp"]) and run["gradient_checkpointing"] is not False,
        "trainer.gradient_checkpointing under FSDP gathers every layer once more; set it to false and "
        "trainer.fsdp_config.activation_checkpointing=true",
        "huggingface/transformers#30404",
    ),
    _Rule(
        "warning",
        lambda run: bool(run["fsdp"]) and run.config.lora is not None and run.config.dtype != "float32",
        "the layers of one FSDP unit must have one type, and adapters are float32; set dtype=float32 "
        "(trainer.bf16 still computes in bfloat16)",
    ),
    _Rule(
        "warning",
        _splits_generation,
        "TRL does not save the completions under way, so a checkpoint in the middle of a generation does not "
        "resume exactly; make trainer.save_steps a multiple of the steps that one generation feeds",
    ),
)

_BITSANDBYTES = re.compile(r"paged_.*|.*_bnb.*|adamw_8bit|ademamix.*|lion_.*")


def findings(run: Run) -> list[Finding]:
    """Everything that is known against this run, the worst first."""
    found = [Finding(rule.level, rule.message, rule.issue) for rule in _RULES if rule.applies(run)]
    against = [_unserved(run), *fsdp.faults(run.config.trainer)]
    found += (Finding("refused", message) for message in against if message)
    found += (Finding("missing", message) for message in _missing_packages(run))
    return sorted(found, key=lambda finding: ("refused", "missing", "warning").index(finding.level))


def _missing_packages(run: Run) -> Iterator[str]:
    optimizer, trackers = str(run["optim"] or ""), run["report_to"]
    needs = {
        "deepspeed": ("trainer.deepspeed", run["deepspeed"] is not None),
        "bitsandbytes": (f"trainer.optim={optimizer}", bool(_BITSANDBYTES.fullmatch(optimizer))),
        "torchao": (f"trainer.optim={optimizer}", optimizer in ("adamw_torch_8bit", "adamw_torch_4bit")),
        "liger_kernel": ("trainer.use_liger_kernel", run["use_liger_kernel"] is True),
        "vllm": (
            "trainer.use_vllm" if run.vllm else "generator.kind=vllm",
            run.vllm or run.config.generator.kind == "vllm",
        ),
    }
    names = trackers if isinstance(trackers, list) else [trackers]
    needs |= {
        name: (f"trainer.report_to={name}", name in names) for name in ("wandb", "trackio", "tensorboard")
    }
    for package, (asked_by, wanted) in needs.items():
        if wanted and importlib.util.find_spec(package) is None:
            yield f"{asked_by} needs the package {package}, which is not installed here"
