import json
from pathlib import Path
from typing import Any

import pytest

from rollout import generators
from train.check.batch import batch_of
from train.check.deepspeed import zero_of
from train.check.known import Run, findings
from train.grpo_config import Config, Lora

LORA = Lora(r=8, alpha=16)


def found(
    model: str = "Qwen/Qwen2.5-3B",
    lora: Lora | None = None,
    generator: generators.Config | None = None,
    **trainer: Any,
) -> list[str]:
    config = Config(
        model=model, task={}, rewards=({"use": "format"},), output_dir=Path("out"), lora=lora,
        max_prompt_length=512, trainer=trainer, generator=generator or generators.Transformers(),
    )  # fmt: skip
    run = Run(config, batch_of(config.trainer, 1), zero_of(config.trainer))
    return [f"{finding.level}: {finding}" for finding in findings(run)]


def test_a_plain_run_has_nothing_against_it() -> None:
    assert found() == []
    assert found(lora=LORA, learning_rate=5e-6, bf16=True, top_p=0.9) == []


@pytest.mark.parametrize(
    ("arguments", "level", "said"),
    [
        ({"use_vllm": True, "top_p": 0.8}, "refused", "huggingface/trl#6789"),
        ({"use_vllm": True, "top_k": 50}, "refused", "huggingface/trl#6789"),
        ({"use_vllm": True, "min_p": 0.1}, "refused", "huggingface/trl#6789"),
        ({"use_vllm": True, "model": "unsloth/Qwen2.5-3B-bnb-4bit"}, "refused", "huggingface/trl#3133"),
        ({"use_vllm": True, "use_liger_kernel": True}, "refused", "linkedin/Liger-Kernel#1088"),
        ({"lora": Lora(8, 16, targets=("q_proj", "lm_head"))}, "refused", "LoRA on lm_head"),
        ({"auto_find_batch_size": True}, "refused", "auto_find_batch_size"),
        ({"use_vllm": True, "use_cpu": True}, "refused", "on the CPU"),
        ({"bf16": True, "fp16": True}, "refused", "exclude one another"),
        ({"deepspeed": {"train_micro_batch_size_per_gpu": 4}}, "refused", "train_micro_batch_size_per_gpu"),
        (
            {"use_vllm": True, "lora": LORA, "deepspeed": {"zero_optimization": {"stage": 3}}},
            "warning", "huggingface/trl#5766",
        ),
        ({"use_vllm": True, "lora": LORA}, "warning", "huggingface/trl#3671"),
        ({"use_vllm": True, "vllm_gpu_memory_utilization": 0.5}, "warning", "huggingface/trl#2688"),
        ({"use_vllm": True, "max_completion_length": 2048}, "warning", "huggingface/trl#4772"),
        ({"importance_sampling_level": "sequence"}, "warning", "huggingface/trl#5815"),
        ({"lora": LORA, "learning_rate": 1e-6}, "warning", "huggingface/trl#2872"),
        ({"lora": LORA}, "warning", "huggingface/trl#2872"),  # TRL's default rate is a full-tuning one
        ({"use_cpu": True, "fsdp": "full_shard"}, "warning", "FSDP"),
        ({"steps_per_generation": 4, "save_steps": 6}, "warning", "does not resume exactly"),
        ({"optim": "adamw_8bit"}, "missing", "bitsandbytes"),
        ({"report_to": ["wandb", "trackio"]}, "missing", "trackio"),
    ],
)  # fmt: skip
def test_what_is_known_is_said(
    arguments: dict[str, Any], level: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = ("bitsandbytes", "trackio", "wandb")
    monkeypatch.setattr(
        "train.check.known.importlib.util.find_spec", lambda name: None if name in absent else name
    )
    assert any(line.startswith(f"{level}: ") and said in line for line in found(**arguments))


def test_what_mends_it_is_not_held_against_it() -> None:
    off: dict[str, Any] = {
        "use_vllm": True,
        "vllm_importance_sampling_correction": False,
        "max_completion_length": 256,
    }
    assert found(**off, top_p=0.8) == []
    assert found(steps_per_generation=4, save_steps=8) == []


@pytest.mark.parametrize(
    "given",
    [
        {"top_p": 0.8}, {"top_k": 20}, {"min_p": 0.1}, {"repetition_penalty": 1.1}, {"presence_penalty": 0.5},
        {"temperature": 0.5}, {"structured_outputs": {"regex": "a"}}, {"allowed_token_ids": [1]},
    ],
)  # fmt: skip
def test_truncation_among_the_generation_arguments_is_seen_once(given: dict[str, Any]) -> None:
    for generator in (generators.Transformers(), generators.Vllm("vllm", gpu_memory_utilization=0.3)):
        own = generator.kind == "transformers"
        for form in (given, json.dumps(given)):
            lines = found(
                lora=LORA, learning_rate=5e-6, use_vllm=own, generation_kwargs=form, generator=generator
            )
            refused = [line for line in lines if line.startswith("refused: ")]
            assert len(refused) == 1
            assert "huggingface/trl#6789" in refused[0]
            assert ("remove it from trainer" in refused[0]) != own


def test_an_engine_wants_the_second_fsdp() -> None:
    def lines(version: int, generator: generators.Config | None = None) -> str:
        return "\n".join(found(lora=LORA, fsdp=True, fsdp_config={"version": version}, generator=generator))

    engine = generators.VllmServer("vllm_server", ("http://h:1",))
    assert "refused: an engine is given the whole adapter, of which FSDP1" in lines(1, engine)
    assert "FSDP1" not in lines(2, engine) + lines(1)


def test_generation_arguments_that_truncate_nothing() -> None:
    neutral = {"top_p": 1.0, "top_k": 0, "temperature": 1.0, "ignore_eos": True}
    assert not [line for line in found(use_vllm=True, generation_kwargs=neutral) if "refused" in line]
    assert found(generation_kwargs={"top_p": 0.8}) == []  # TRL's own generation needs no ratio
    (line,) = found(
        lora=LORA, learning_rate=5e-6, generation_kwargs=neutral,
        generator=generators.VllmServer("vllm_server", ("http://h:1",)),
    )  # fmt: skip
    assert "are for TRL's own generation" in line


def test_a_quantised_folder_is_seen(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"quantization_config": {"load_in_4bit": true}}')
    assert any("quantised" in line for line in found(model=str(tmp_path), use_vllm=True))


def test_the_worst_comes_first() -> None:
    levels = [
        line.split(":")[0] for line in found(use_vllm=True, lora=LORA, use_cpu=True, optim="adamw_8bit")
    ]
    assert levels == sorted(levels, key=("refused", "missing", "warning").index)
    assert set(levels) >= {"refused", "warning"}
