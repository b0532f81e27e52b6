"""Memory of a GRPO run on each GPU, estimated from the recipe and the model's shape.

All numbers are bytes. The phases of a step follow one another, so the peak is what stays (weights, adapter,
gradients, optimizer) plus the larger of training and generation. Not counted: the CUDA context and the
allocator's fragmentation, for which `CARDS` leaves a tenth.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

from rollout.generators import Vllm
from train.check.batch import Batch
from train.check.deepspeed import Zero
from train.check.shapes import Shape
from train.grpo_config import Config

GIB = 2**30
CARDS = (16, 24, 40, 48, 80, 96, 141)
"""Sizes of common cards in GiB, as they are sold."""

ASSUMED_PROMPT = 1024
"""Tokens of a prompt where the recipe sets no `max_prompt_length`."""

# TRL's head makes log-probabilities from tiles of this many tokens x entries of the vocabulary, in float32.
TILE = (4096, 32_768)
BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "auto": 2}


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on one GPU."""

    weights: float
    """P x bytes(dtype), and as much again for a reference model (full fine-tuning with beta above 0)."""
    adapter: float
    """LoRA weights, r x (inputs + outputs) a layer, in float32."""
    gradients: float
    """One number for each trained weight; twice that where DDP keeps its buckets beside them."""
    optimizer: float
    """AdamW: two numbers for each trained weight (8-bit: two bytes); DeepSpeed adds float32 masters."""
    activations: float
    """One micro-batch: what blocks keep for backward (see `block_bytes`), and the output head's tile."""
    generation: float
    """Keys and values of all sequences of a generation at full length, the widest prefill layer, the last
    logits. A colocated vLLM instead keeps a copy of the weights and its cache in `engine_share`."""
    engine_share: float = 0.0
    """Share of the card that a colocated vLLM takes for itself."""

    @property
    def peak(self) -> float:
        """Bytes at the larger of the two phases."""
        stays = self.weights + self.adapter + self.gradients + self.optimizer
        if self.engine_share:
            return stays + self.activations
        return stays + max(self.activations, self.generation)

    def fits(self, card: float) -> bool:
        """Whether a card of this many GiB holds the run, with a tenth to spare."""
        own, engine = self.peak / GIB, self.generation / GIB
        return own <= (0.9 - self.engine_share) * card and (
            not self.engine_share or engine < self.engine_share * card
        )

    def lines(self) -> list[str]:
        """One line for each part and for the peak (below 1 GiB in MiB), and the cards that hold it."""
        parts = {
            field.name: getattr(self, field.name) for field in fields(self) if field.name != "engine_share"
        }
        if not self.generation:
            del parts["generation"]
        rows = [f"{name:<14}{_size(size)}" for name, size in {**parts, "peak": self.peak}.items()]
        alone = self.engine_share or not self.generation
        most = "activations" if alone else "the larger of activations and generation"
        rows[-1] += f" (what stays: weights, adapter, gradients, optimizer; and {most})"
        smallest = next(
            (f"from {card} GB up" for card in CARDS if self.fits(card)), f"of more than {CARDS[-1]} GB"
        )
        engine = f", of which vLLM takes {self.engine_share:.0%}" if self.engine_share else ""
        return [*rows, f"fits on cards {smallest}{engine}"]


def estimate(config: Config, shape: Shape, batch: Batch, zero: Zero) -> Memory:
    """Memory on each of `batch.world` GPUs.

    Training: B sequences of T = prompt + completion tokens. With checkpointing (TRL's default) every block
    keeps its input, B T hidden values, and one block at a time is recomputed; without, all blocks keep
    everything. Generation: B x steps_per_generation sequences at once, each token 2 x layers x kv_heads x
    head_dim values. ZeRO 1 shares out the optimizer, 2 the gradients too, 3 the weights too (arXiv
    1910.02054).
    """
    trainer = config.trainer
    world = batch.world
    stage = 3 if trainer.get("fsdp") else zero.stage  # FSDP2 shares out the same three
    half = trainer.get("bf16") is not False or trainer.get("fp16") is True  # TRL: bf16 unless told otherwise
    weight_bytes = BYTES[config.dtype]
    compute_bytes = 2 if half else weight_bytes
    parameters = shape.parameters
    adapter = shape.adapter_parameters(config.lora.r, config.lora.targets) if config.lora else 0
    trained, trained_bytes = (adapter, 4) if config.lora else (parameters, weight_bytes)

    copies = 2 if not config.lora and (trainer.get("beta") or 0.0) > 0.0 else 1
    weights = copies * parameters * weight_bytes
    gradients = trained * trained_bytes * (2 if world > 1 and not stage else 1)
    optimizer = trained * state_bytes(str(trainer.get("optim") or "adamw_torch_fused"), trained_bytes)
    if zero.stage and half:
        optimizer += trained * 4
    prompt, completion = (
        config.max_prompt_length or ASSUMED_PROMPT,
        trainer.get("max_completion_length") or 512,
    )
    tokens = batch.per_device * (prompt + completion)
    tile = min(batch.per_device * completion, TILE[0]) * min(shape.vocabulary, TILE[1]) * 4
    block = block_bytes(shape, compute_bytes)
    if trainer.get("gradient_checkpointing") is False and not _recomputes(trainer.get("fsdp_config")):
        activations = tokens * shape.layers * block + tile
    else:
        activations = tokens * (shape.layers * shape.hidden * compute_bytes + block) + tile

    sequences = batch.per_device * batch.steps_per_generation
    cache = (
        sequences * (prompt + completion) * 2 * shape.layers * shape.kv_heads * shape.head_dim * weight_bytes
    )
    prefill = sequences * prompt * (2 * shape.hidden + 3 * shape.intermediate) * weight_bytes
    generation = cache + prefill + sequences * shape.vocabulary * 4
    share, engine = _engine(config, parameters)
    return Memory(
        weights=weights / (world if stage >= 3 else 1),
        adapter=adapter * 4 / (world if stage >= 3 else 1),
        gradients=gradients / (world if stage >= 2 else 1),
        optimizer=optimizer / (world if stage >= 1 else 1),
        activations=activations,
        generation=generation if engine is None else engine,
        engine_share=share,
    )


def _engine(config: Config, parameters: int) -> tuple[float, float | None]:
    """Share of the card and bytes of weights of an engine on it; bytes are None where there is no engine.

    `dtype: auto` is what `train.rollouts` makes of it; vLLM's own, which TRL takes, is two bytes.
    """
    trainer, section = config.trainer, config.generator
    if isinstance(section, Vllm):
        bf16 = trainer.get("bf16")
        computed = "bfloat16" if bf16 or (bf16 is None and not trainer.get("fp16")) else config.dtype
        each = BYTES[computed if section.dtype == "auto" else section.dtype]
        return section.gpu_memory_utilization, parameters * each / section.tensor_parallel_size
    if section.kind == "vllm_server":
        return 0.0, 0
    if not trainer.get("use_vllm"):
        return 0.0, None
    if trainer.get("vllm_mode", "colocate") != "colocate":
        return 0.0, 0
    spread = trainer.get("vllm_tensor_parallel_size") or 1
    return float(trainer.get("vllm_gpu_memory_utilization", 0.3)), parameters * BYTES["auto"] / spread


def block_bytes(shape: Shape, compute_bytes: int) -> int:
    """Bytes for each token that one block keeps for backward.

    Four of `hidden` (two block inputs, two normed), queries and attention output, keys and values, four of
    `intermediate` (gate, up, activated, product) in the compute type; the two norms keep their inputs in
    float32. Attention is taken to be fused, so no score matrix is kept.
    """
    attention = 2 * shape.heads * shape.head_dim + 2 * shape.kv_heads * shape.head_dim
    return (4 * shape.hidden + attention + 4 * shape.intermediate) * compute_bytes + 2 * shape.hidden * 4


def _size(size: float) -> str:
    return f"{size / GIB:8.2f} GiB" if size >= GIB else f"{size / 2**20:8.2f} MiB"


def _recomputes(fsdp_config: object) -> bool:
    return isinstance(fsdp_config, Mapping) and fsdp_config.get("activation_checkpointing") is True


def state_bytes(optimizer: str, trained_bytes: int) -> float:
    """Bytes of state for each trained weight; AdamW's two numbers where the optimizer is another one."""
    if optimizer in ("sgd", "adafactor"):  # adafactor keeps row and column sums: next to nothing
        return 0
    states = 1 if optimizer.startswith(("lion", "paged_lion", "rmsprop", "adagrad")) else 2
    return states * (1 if "8bit" in optimizer else trained_bytes)
