"""Shapes of the models that recipes name, so that memory can be estimated without a model or a network."""

import json
from dataclasses import dataclass
from pathlib import Path

from tasks.errors import InputError
from tasks.strict import closest


@dataclass(frozen=True, slots=True)
class Shape:
    """A dense decoder of the Llama family (Llama, Qwen2.5, Qwen3, SmolLM2)."""

    layers: int
    hidden: int
    intermediate: int
    heads: int
    kv_heads: int
    head_dim: int
    vocabulary: int
    tied: bool
    """Whether the output head shares the embedding's weights."""
    qkv_bias: bool = False
    qk_norm: bool = False

    @property
    def linears(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of each linear layer of a block, by the names that LoRA targets."""
        query, key = self.heads * self.head_dim, self.kv_heads * self.head_dim
        return {
            "q_proj": (self.hidden, query),
            "k_proj": (self.hidden, key),
            "v_proj": (self.hidden, key),
            "o_proj": (query, self.hidden),
            "gate_proj": (self.hidden, self.intermediate),
            "up_proj": (self.hidden, self.intermediate),
            "down_proj": (self.intermediate, self.hidden),
        }

    @property
    def parameters(self) -> int:
        """All weights: embedding (and head, unless tied), linear layers, biases, norms."""
        block = sum(inputs * outputs for inputs, outputs in self.linears.values()) + 2 * self.hidden
        if self.qkv_bias:
            block += (self.heads + 2 * self.kv_heads) * self.head_dim
        if self.qk_norm:
            block += 2 * self.head_dim
        embedding = self.vocabulary * self.hidden
        return self.layers * block + embedding * (1 if self.tied else 2) + self.hidden

    def adapter_parameters(self, rank: int, targets: tuple[str, ...] | str) -> int:
        """Weights of a LoRA: rank x (inputs + outputs) for each target of each block."""
        names = tuple(self.linears) if isinstance(targets, str) else targets
        for name in names:
            if name not in self.linears:
                raise InputError(f"lora.targets: no layer {name!r}; {closest(name, self.linears)}")
        return self.layers * sum(rank * sum(self.linears[name]) for name in names)


def _qwen25(
    layers: int, hidden: int, intermediate: int, heads: int, kv_heads: int, vocabulary: int = 151_936
) -> Shape:
    tied = vocabulary == 151_936
    return Shape(
        layers, hidden, intermediate, heads, kv_heads, hidden // heads, vocabulary, tied, qkv_bias=True
    )


def _qwen3(layers: int, hidden: int, intermediate: int, heads: int, tied: bool) -> Shape:
    return Shape(layers, hidden, intermediate, heads, 8, 128, 151_936, tied, qk_norm=True)


# From the models' config.json.
SHAPES = {
    "Qwen2.5-0.5B": _qwen25(24, 896, 4_864, 14, 2),
    "Qwen2.5-1.5B": _qwen25(28, 1_536, 8_960, 12, 2),
    "Qwen2.5-3B": _qwen25(36, 2_048, 11_008, 16, 2),
    "Qwen2.5-7B": _qwen25(28, 3_584, 18_944, 28, 4, vocabulary=152_064),
    "Qwen2.5-14B": _qwen25(48, 5_120, 13_824, 40, 8, vocabulary=152_064),
    "Qwen2.5-32B": _qwen25(64, 5_120, 27_648, 40, 8, vocabulary=152_064),
    "Qwen3-0.6B": _qwen3(28, 1_024, 3_072, 16, tied=True),
    "Qwen3-1.7B": _qwen3(28, 2_048, 6_144, 16, tied=True),
    "Qwen3-4B": _qwen3(36, 2_560, 9_728, 32, tied=True),
    "Qwen3-8B": _qwen3(36, 4_096, 12_288, 32, tied=False),
    "Qwen3-14B": _qwen3(40, 5_120, 17_408, 40, tied=False),
    "SmolLM2-135M": Shape(30, 576, 1_536, 9, 3, head_dim=64, vocabulary=49_152, tied=True),
    "mini": Shape(2, 64, 128, 4, 4, head_dim=32, vocabulary=201, tied=True, qk_norm=True),
    "mini_hops": Shape(3, 64, 128, 4, 4, head_dim=32, vocabulary=267, tied=True, qk_norm=True),
}


def shape_of(model: str) -> Shape | None:
    """The shape of a hub name (any owner, base or instruct), a name of ours, or a folder; else None."""
    folder = Path(model)
    if folder.is_absolute():
        return _from_folder(folder)
    name = model.rpartition("/")[2].lower()
    fits = [known for known in SHAPES if name == known.lower() or name.startswith(f"{known.lower()}-")]
    return SHAPES[max(fits, key=len)] if fits else None


def _from_folder(folder: Path) -> Shape | None:
    file = folder / "config.json"
    if not file.is_file():
        return None  # an adapter: its base is not at hand
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        family = config["model_type"]
        if family not in ("llama", "qwen2", "qwen3"):
            return None
        heads = config["num_attention_heads"]
        shape = Shape(
            layers=config["num_hidden_layers"],
            hidden=config["hidden_size"],
            intermediate=config["intermediate_size"],
            heads=heads,
            kv_heads=config.get("num_key_value_heads") or heads,
            head_dim=config.get("head_dim") or config["hidden_size"] // heads,
            vocabulary=config["vocab_size"],
            tied=bool(config.get("tie_word_embeddings", False)),
            qkv_bias=family == "qwen2",
            qk_norm=family == "qwen3",
        )
        for name in ("layers", "hidden", "intermediate", "heads", "kv_heads", "head_dim", "vocabulary"):
            if not isinstance(size := getattr(shape, name), int) or size < 1:
                raise ValueError(f"{name}: {size!r}")
        return shape
    except (OSError, ValueError, TypeError, KeyError, ZeroDivisionError, AttributeError) as error:
        raise InputError(f"{file}: not a model's configuration ({type(error).__name__}: {error})") from error
