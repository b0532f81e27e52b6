"""The policy's adapter as files, whole, however its parameters are spread over ranks."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch
    from peft import PeftModel


def save_adapter(model: "PeftModel", folder: Path, write: bool = True) -> None:
    """Write the trained adapter to `folder`, on those ranks that `write`; all ranks have to call it.

    Only `default`: a model that came from an earlier stage holds a frozen `ref` beside it.
    """
    from peft import get_peft_model_state_dict
    from safetensors.torch import save_file

    trained = {name: value for name, value in model.named_parameters() if "lora_" in name}
    with _gathered(list(trained.values())):
        state = {name: _whole(value) for name, value in trained.items()}
        if write:  # PEFT's own `save_pretrained` would render a model card for every update
            folder.mkdir(parents=True)
            tensors = get_peft_model_state_dict(model, state, "default", save_embedding_layers=False)
            whole = {name: value.contiguous().cpu() for name, value in tensors.items()}
            save_file(whole, folder / "adapter_model.safetensors", metadata={"format": "pt"})
            model.peft_config["default"].save_pretrained(str(folder))


@contextlib.contextmanager
def _gathered(parameters: "list[torch.nn.Parameter]") -> Iterator[None]:
    """Under ZeRO-3 each rank holds a slice of every parameter; within, all of it."""
    if not any(hasattr(parameter, "ds_id") for parameter in parameters):
        yield
        return
    import deepspeed

    with deepspeed.zero.GatheredParameters(parameters):
        yield


def _whole(value: "torch.Tensor") -> "torch.Tensor":
    """Under FSDP2 a parameter is a DTensor; all ranks put their parts together."""
    full: Any = getattr(value, "full_tensor", None)
    whole: torch.Tensor = full() if full is not None else value
    return whole.detach()
