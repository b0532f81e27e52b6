"""Where the policy and its tokenizer come from; what is no model is refused before anything heavy."""

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.errors import InputError
from tasks.whole_file import weights_fault
from train.checkpoints import weight_files
from train.mini_start import MINIS, mini_start

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, TrainingArguments

WEIGHTS = ("*.safetensors", "pytorch_model*.bin")


def check(model: str, revision: str | None = None) -> None:
    """Raise InputError unless `model` (hub name, folder, or `mini`) can be trained: a chat model, whole."""
    if model in MINIS:
        return
    if Path(model).is_absolute():
        _check_folder(Path(model))
    if not tokenizer(model, revision).chat_template:
        raise InputError(
            f"model {model}: the tokenizer has no chat template; use an instruct model, or add one"
        )


def _check_folder(folder: Path) -> None:
    if not (folder / "config.json").is_file():
        adapter = (folder / "adapter_config.json").is_file()
        fault = (
            "is an adapter; merge it into its base model" if adapter else "is no model: it has no config.json"
        )
        raise InputError(f"model: {folder} {fault}")
    if not any(file for pattern in WEIGHTS for file in folder.glob(pattern)):
        raise InputError(f"model: {folder} holds no weights (*.safetensors)")
    for name in weight_files(folder):
        file = folder / name
        # An old pytorch_model.bin may be no zip file: only what is missing is told of it.
        fault = weights_fault(file) if file.suffix == ".safetensors" or not file.is_file() else ""
        if fault:
            raise InputError(f"model: {file} is broken ({fault}); copy or download it again")


def tokenizer(model: str, revision: str | None = None) -> "PreTrainedTokenizerBase":
    """The tokenizer of a hub name or a folder, padding on the left. Raises InputError where there is none."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model, revision=revision, padding_side="left")
    except (OSError, ValueError) as error:
        cause = str(error).strip().split("\n")[0]
        raise InputError(f"model {model}: no tokenizer can be loaded ({cause})") from error


def locate(model: str, seed: int, arguments: "TrainingArguments") -> str:
    """Hub name or folder as it stands; `mini` is built first, once, on the main process, and cached."""
    if model not in MINIS:
        return model
    with arguments.main_process_first(local=False, desc="warm start of the mini model"):
        return mini_start(model, seed)
