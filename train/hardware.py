"""What the machine decides where a recipe is silent."""

import os
from typing import Any


def defaults() -> dict[str, Any]:
    """Trainer arguments for this machine: bfloat16 where it exists, the CPU where there is nothing else."""
    import torch

    if not torch.cuda.is_available():
        return {"use_cpu": True, "bf16": False}
    return {"bf16": torch.cuda.is_bf16_supported()}


def name_the_cpu() -> None:
    """Make accelerate call the CPU `cpu` on all ranks: `torch.load` does not know the usual name, `cpu:0`."""
    os.environ["ACCELERATE_TORCH_DEVICE"] = "cpu"


def join_deepspeed() -> None:
    """Make DeepSpeed's process group, which transformers makes on GPUs alone; ZeRO-3 loads weights in it."""
    if "RANK" in os.environ:
        import deepspeed

        deepspeed.init_distributed(dist_backend="gloo")
