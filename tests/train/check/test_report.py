from pathlib import Path

import pytest

from tasks.errors import InputError
from tests.train.conftest import Folder
from train.check import check, preflight
from train.grpo_config import Config
from train.recipe import load

BODY = """
model: mini
task: {use: mini}
rewards: [{use: format}, {use: tool_match}, {use: certainty, belief: emitted}]
trainer: {per_device_train_batch_size: 8, num_generations: 8, bf16: false, use_cpu: true}
"""


@pytest.fixture
def grpo(folder: Folder) -> Path:
    """A recipe whose job has the fields of GRPO, and nothing behind them."""
    folder.write(f"{folder.job}.py", "from train.grpo_config import Config\ndef run(config): ...\n")
    return folder.recipe(BODY)


def test_everything_is_printed(grpo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(str(grpo), ["seed=7"], 2)
    out = capsys.readouterr().out
    assert "  seed: 7\n" in out
    assert "batch on 2 ranks\n" in out
    assert "8 a device x 2 ranks x 1 steps_per_generation = 16 completions\n" in out
    for part in ("weights", "adapter", "gradients", "optimizer", "activations", "generation", "peak"):
        assert f"\n  {part} " in out
    assert "known failures\n  none\n" in out
    assert "reward self-test\n  gold: on average over 40 rows format 1, tool_match 1, certainty " in out


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("trainer.per_device_train_batch_size=6", "num_generations 8; nearest valid: per_device_train"),
        ("trainer.auto_find_batch_size=true", "auto_find_batch_size"),
        ("trainer.max_step=3", "did you mean 'max_steps'?"),
        ("trainer.output_dir=x", "trainer.output_dir is not for a recipe: it stands at the top"),
        ("trainer.temperature=0", "trainer.temperature is 0.0; it is above 0"),
        ("trainer.learning_rate=.inf", "trainer.learning_rate is inf; give a finite number"),
        ("trainer.report_to=nope", "trainer.report_to is 'nope'"),
        ("seed=-1", "seed is -1; it is 0 to"),
        ("max_prompt_length=0", "max_prompt_length is 0"),
        ("lora={r: 8, alpha: 16, targets: [qproj]}", "no layer 'qproj'; did you mean 'q_proj'?"),
        ("lora={r: 0, alpha: 16}", "r is 0"),
        ("lora={r: 8, alpha: 0}", "alpha is 0"),
        ("lora={r: 8, alpha: 8, dropout: 1}", "dropout is 1"),
        ("lora={r: 8, alpha: 8, targets: []}", "targets is empty"),
        ("rewards=[]", "give a list of at least one reward"),
        ("rewards.0.use=formt", "did you mean 'format'?"),
        # paid by length, so noise beats gold
        ("rewards=[{use: long_answers.score}]", "fail the self-test"),
    ],
)
def test_what_is_wrong_is_one_error(grpo: Path, folder: Folder, override: str, fault: str) -> None:
    folder.write("long_answers.py", "def score(task, completion): return float(len(completion.answer))\n")
    with pytest.raises(InputError) as caught:
        check(str(grpo), [override])
    assert fault in str(caught.value)
    assert str(caught.value).startswith("recipe.yaml: ")


def test_secrets_are_not_printed(grpo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(str(grpo), ["trainer.hub_token=hf_abc"])
    assert "hf_abc" not in capsys.readouterr().out


def test_an_unknown_shape_is_no_fault(grpo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(str(grpo), ["model=someone/their-model"])
    assert "no shape known for someone/their-model" in capsys.readouterr().out


def test_other_jobs_print_their_recipe(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    check(str(folder.recipe("steps: 3")))
    out = capsys.readouterr().out
    assert "  steps: 3\n" in out
    assert "\nbatch" not in out
    assert out.splitlines()[-1].startswith("ok: the recipe can be used (batch, memory and self-test are")


def test_preflight_refuses_what_cannot_run(grpo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def config(*overrides: str) -> Config:
        found = load(grpo, overrides).config
        assert isinstance(found, Config)
        return found

    assert preflight(config(), 2).generation == 16
    for world, override, fault in (
        (1, "trainer.num_generations=3", "nearest valid"),
        (1, "trainer.auto_find_batch_size=true", "auto_find_batch_size"),
        (1, "trainer.optim=adamw_8bit", "needs the package bitsandbytes"),
    ):
        monkeypatch.setattr("train.check.known.importlib.util.find_spec", lambda _: None)
        with pytest.raises(InputError, match=fault):
            preflight(config(override), world)
