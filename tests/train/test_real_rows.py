"""The shipped recipe on real rows, Qwen's tokenizer and template: one and two ranks, killed, evaluated."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.train.ranks import RECIPES, start
from train.metrics_log import records
from train.recipe import load

pytestmark = pytest.mark.slow

STEPS = 2
COMPLETIONS = 4  # of one prompt, over all ranks
CPU = f"""
    dtype=float32 trainer.bf16=false trainer.use_cpu=true trainer.disable_tqdm=true
    trainer.max_completion_length=32 trainer.max_steps={STEPS} trainer.save_steps=1
    trainer.num_generations={COMPLETIONS} trainer.gradient_accumulation_steps=1
""".split()


@pytest.fixture(scope="module")
def babbler(tiny_qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Qwen that says a dozen words at random: some replies ask, others do not, and that can be learned.

    Every token embeds a constant, by which the head prefers those words to the rest of the vocabulary.
    """
    import torch
    from transformers import AutoTokenizer, Qwen2ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(tiny_qwen)
    words = tokenizer("<reasoning></reasoning> Which domain should I use? It is done.")["input_ids"]
    words = torch.tensor([*words, tokenizer.eos_token_id])
    model = Qwen2ForCausalLM.from_pretrained(tiny_qwen, tie_word_embeddings=False)
    with torch.no_grad():
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight *= 0.1
            layer.mlp.down_proj.weight *= 0.1
        model.model.embed_tokens.weight[:, 0] = 4.0
        head = torch.zeros_like(model.lm_head.weight)
        head[words] = model.lm_head.weight[words]
        head[words, 0] = 10.0
        model.lm_head.weight.copy_(head)
    folder = tmp_path_factory.mktemp("babbler")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def overrides(model: Path, rows: Path, folder: Path, ranks: int) -> list[str]:
    where = [f"model={model}", f"task.train={rows / 'train_pref_example.jsonl'}", f"output_dir={folder}"]
    return [
        *where,
        *CPU,
        "generator={kind: transformers}",
        f"trainer.per_device_train_batch_size={COMPLETIONS // ranks}",
    ]


def kill_after_its_first_checkpoint(ranks: int, arguments: Sequence[str], folder: Path) -> None:
    log = folder.with_suffix(".log")
    process = start(ranks, RECIPES / "grpo_certainty.yaml", arguments, log)
    while process.poll() is None and not (folder / "checkpoint-1" / "trainer_state.json").is_file():
        time.sleep(0.01)
    for running in (*psutil.Process(process.pid).children(recursive=True), process):  # ranks, launcher
        running.kill()
    process.wait()
    assert (folder / "checkpoint-1").is_dir(), log.read_text()
    assert not (folder / "finished.json").exists()


def steps(folder: Path) -> list[tuple[Any, ...]]:
    names = ("step", "loss", "grad_norm", "reward", "completions/mean_length")
    return [tuple(record[name] for name in names) for record in records(folder / "metrics.jsonl")]


@pytest.fixture(scope="module")
def undisturbed(babbler: Path, real_rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run directory of one rank."""
    folder = tmp_path_factory.mktemp("one") / "run"
    load(RECIPES / "grpo_certainty.yaml", overrides(babbler, real_rows, folder, 1)).run()
    return folder


def test_one_rank_takes_its_steps_and_goes_on_after_a_kill(
    babbler: Path, real_rows: Path, undisturbed: Path, tmp_path: Path
) -> None:
    arguments = overrides(babbler, real_rows, tmp_path / "killed", 1)
    kill_after_its_first_checkpoint(1, arguments, tmp_path / "killed")
    load(RECIPES / "grpo_certainty.yaml", arguments).run()
    expected = steps(undisturbed)
    assert [step for step, *_ in expected] == [1, 2]
    assert all(loss and norm for _, loss, norm, *_ in expected)
    assert steps(tmp_path / "killed") == expected


def test_two_ranks_take_their_steps_and_go_on_after_a_kill(
    babbler: Path, real_rows: Path, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    kill_after_its_first_checkpoint(2, overrides(babbler, real_rows, killed, 2), killed)
    for folder in (whole, killed):
        log = folder.with_suffix(".log")
        arguments = overrides(babbler, real_rows, folder, 2)
        assert start(2, RECIPES / "grpo_certainty.yaml", arguments, log).wait() == 0, log.read_text()
        assert json.loads((folder / "versions.json").read_text())["processes"] == 2
        # each of the two ranks has saved the state of its own random numbers
        assert len(list((folder / f"checkpoint-{STEPS}").glob("rng_state_*.pth"))) == 2
    assert [step for step, *_ in steps(whole)] == [1, 2]
    assert steps(killed) == steps(whole)


def test_the_adapter_loads_with_plain_peft(babbler: Path, undisturbed: Path) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    policy = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(babbler), str(undisturbed))
    learned = [tensor for name, tensor in policy.state_dict().items() if "lora_B" in name]
    assert len(learned) == 2 * 7  # layers, and linear layers in each
    assert all(tensor.abs().sum() > 0 for tensor in learned)


def test_the_policy_is_evaluated(babbler: Path, undisturbed: Path, real_rows: Path, tmp_path: Path) -> None:
    arguments = [
        f"model={babbler}", f"adapter={undisturbed}", f"task.test={real_rows / 'test_llm_judge.jsonl'}",
        f"output_dir={tmp_path}", "generator={kind: transformers, dtype: float32}",
        "max_new_tokens=8", "limit=3",
    ]  # fmt: skip
    load(RECIPES / "eval_when2call.yaml", arguments).run()
    assert len((tmp_path / "samples.jsonl").read_text().splitlines()) == 3
    assert "tool_call" in json.loads((tmp_path / "results.json").read_text())["report"]["macro_f1_classes"]
