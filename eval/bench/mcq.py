"""`askrl bench mcq [FILE.jsonl]`: multiple choice by lm-evaluation-harness against ours, same model and rows.

The model is random, sized so that its body is most of the work, as in real models; its tokenizer is trained
on the rows. Both sides tokenise and score the same prompts and answers, both are warmed up, and their
log-likelihoods must agree. Times are the processor's, on one core, so that other work on the machine does not
count. `token_ratio` is what sharing the prompt saves; beyond it the logits of the prompt are saved, which a
large vocabulary makes dear.
"""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eval.bench import rows_file
from eval.choice_prompt import answers, encode, prompt
from rollout.generators.likelihood import log_probabilities
from tasks.errors import InputError
from tasks.json_lines import read_rows
from tasks.tool_task import ToolTask
from tasks.when2call import parse_row

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

ROWS = 16
ROUNDS = 3
VOCABULARY = 8192
TOLERANCE = 1e-5
"""Relative, between the two sides' log-likelihoods: they batch differently."""


def run(arguments: Sequence[str]) -> int:
    """Print both times of each round and, as the last line, `lm_eval_over_ours` as JSON."""
    import torch

    file = rows_file("mcq", arguments)
    every = [parse_row(row, f"{file}, row {number}") for number, row in read_rows(file)]
    tasks = [every[i * len(every) // ROWS] for i in range(ROWS)] if len(every) > ROWS else every
    texts = [(prompt(task, "qwen"), list(answers(task).values())) for task in tasks]
    torch.set_num_threads(1)
    tokenizer = _tokenizer(every)
    model = _model(len(tokenizer))
    theirs = _lm_eval(model, tokenizer)

    def ours(rows: Sequence[tuple[str, list[str]]]) -> list[list[float]]:
        found = log_probabilities(model, [encode(tokenizer, *row) for row in rows], batch_size=1)
        return [[sum(logprobs) for logprobs in row] for row in found]

    ours(texts[:2]), theirs(texts[:2])  # warm-up
    times: list[tuple[float, float]] = []
    for number in range(1, ROUNDS + 1):
        seconds, scores = _timed(ours, texts)
        their_seconds, their_scores = _timed(theirs, texts)
        times.append((seconds, their_seconds))
        print(f"round {number}: lm-eval {their_seconds:.2f} s, ours {seconds:.2f} s", flush=True)
        _agree(scores, their_scores)
    best, their_best = (min(side) for side in zip(*times, strict=True))  # the least disturbed of each side
    items = [encode(tokenizer, *row) for row in texts]
    shared = sum(len(item.context) for item in items)
    choices = sum(len(ids) for item in items for ids in item.continuations)
    result = {
        "lm_eval_over_ours": round(their_best / best, 2),
        "token_ratio": round((4 * shared + choices) / (shared + choices), 2),
        "rows": len(tasks),
        "tokens_per_prompt": round(shared / len(tasks)),
        "file": file.name,
    }
    print(json.dumps(result))
    return 0


def _timed(score: Any, rows: Sequence[tuple[str, list[str]]]) -> tuple[float, list[list[float]]]:
    start = time.process_time()
    scores = score(rows)
    return time.process_time() - start, scores


def _agree(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> None:
    worst = max(
        abs(a - b) / abs(b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)
    )
    if worst > TOLERANCE:
        raise RuntimeError(
            f"log-likelihoods differ by {worst:.1e} relative: the two sides did not do the same work"
        )


def _lm_eval(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerFast") -> Any:
    try:
        from lm_eval.api.instance import Instance
        from lm_eval.models.huggingface import HFLM
    except ImportError:
        raise InputError("askrl bench mcq needs lm-evaluation-harness: pip install 'askrl[eval]'") from None
    # One sequence at a time is its fastest form on a CPU: no padding, and the logits stay small.
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1)

    def score(rows: Sequence[tuple[str, list[str]]]) -> list[list[float]]:
        requests = [
            Instance("loglikelihood", {}, (context, text), i)
            for context, texts in rows
            for i, text in enumerate(texts)
        ]
        flat = iter(harness.loglikelihood(requests, disable_tqdm=True))
        return [[next(flat)[0] for _ in texts] for _, texts in rows]

    return score


def _tokenizer(tasks: Sequence[ToolTask]) -> "PreTrainedTokenizerFast":
    """Byte-pair encoding trained on the rows themselves: about as many tokens a row as a real one makes."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    inner = ByteLevelBPETokenizer()
    texts = [text for task in tasks for text in (prompt(task, "qwen"), *answers(task).values())]
    inner.train_from_iterator(
        texts, VOCABULARY, show_progress=False, special_tokens=["<|im_start|>", "<|im_end|>"]
    )
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>", pad_token="<|im_end|>")


def _model(vocabulary: int) -> "PreTrainedModel":
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=vocabulary, hidden_size=384, intermediate_size=1024, num_hidden_layers=6,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=32768,
        bos_token_id=None, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    return Qwen2ForCausalLM(config).eval()
