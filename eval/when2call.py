"""Free generation on When2Call rows: whether the policy calls, asks, declines and answers where it should.

The reply's class is read by `tasks.completion` (arXiv 2504.18851 asks a judge model instead; arXiv 2511.08798
does not say). As a job it is resumable for each sample; `evaluate` is the same as a function, for training.
"""

import asyncio
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.report import Report, Sample, write
from rewards import certainty as certainty_reward
from rewards.tool_match import is_exact
from rollout import generators
from rollout.generators import Generation, Generator, Needs, Request, Sampling, checkpoint
from rollout.ledger import Ledger, is_first_rank, key
from tasks import sources
from tasks.completion import Completion, parse
from tasks.errors import InputError
from tasks.plain import plain
from tasks.prompt import drop_long, prompt_ids
from tasks.tool_task import ToolTask

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

GREEDY = Sampling(max_new_tokens=512, temperature=0.0)
Certainty = Callable[[ToolTask, Completion], float]
"""How certain a completion's call is, in [0, 1]; asked only about completions that make a call."""


@dataclass(frozen=True, slots=True)
class Config:
    """Fields of a `job: eval.when2call` recipe."""

    model: str
    """A folder (a model, or an adapter that names its base) or a hub name."""
    task: Mapping[str, Any]
    output_dir: Path
    adapter: Path | None = None
    generator: generators.Config = field(default_factory=generators.Transformers)
    max_prompt_length: int | None = None
    """In tokens; longer prompts are left out and counted."""
    max_new_tokens: int = 512
    temperature: float = 0.0
    limit: int | None = None
    """Use this many rows, evenly spaced over the test split."""
    certainty: certainty_reward.Config = field(default_factory=certainty_reward.Config)
    """Whose calibration is measured."""
    seed: int = 0

    def __post_init__(self) -> None:
        Sampling(self.max_new_tokens, self.temperature)  # names what is out of range
        if self.limit is not None and self.limit < 1:
            raise InputError(f"limit is {self.limit}; use at least 1 row, or leave it out for all")


def run(config: Config) -> None:
    """Evaluate and write results.json, results.md, samples.jsonl and confusion.png to `output_dir`."""
    if not is_first_rank():
        return
    tasks = sources.spread(sources.load(config.task, "test", config.seed), config.limit)
    tokenizer = checkpoint.tokenizer(*checkpoint.split(config.model, config.adapter))
    tasks = drop_long(tasks, tokenizer, config.max_prompt_length)
    longest = max((len(prompt_ids(task, tokenizer)) for task in tasks.tasks), default=0)
    needs = Needs(max_model_len=longest + config.max_new_tokens)
    generator, _ = generators.build(config.generator, config.model, config.adapter, needs)
    try:
        report = evaluate(
            generator, tasks.tasks, tokenizer,
            sampling=Sampling(config.max_new_tokens, config.temperature),
            certainty=lambda task, reply: certainty_reward.certainty(task, reply, config.certainty).value,
            seed=config.seed, progress=True, ledger=Ledger(config.output_dir / "generations.jsonl"),
            identity=checkpoint.identity(config.generator, config.model, config.adapter),
        )  # fmt: skip
    finally:
        generator.close()
    write(
        report,
        config.output_dir,
        settings=plain(config),
        data={"counts": tasks.counts, "hashes": tasks.hashes},
    )
    print(report.markdown())


def evaluate(
    generator: Generator,
    tasks: Sequence[ToolTask],
    tokenizer: "PreTrainedTokenizerBase",
    *,
    sampling: Sampling = GREEDY,
    certainty: Certainty | None = None,
    seed: int = 0,
    progress: bool = False,
    ledger: Ledger | None = None,
    identity: str = "",
) -> Report:
    """Generate one completion for each task and score them all.

    With a `ledger`, completions that are in it (same model `identity`, prompt, sampling and seed) are not
    generated again. `certainty` defaults to the grounded feasibility of the call. Raises ValueError without
    tasks.
    """
    if not tasks:
        raise ValueError("no tasks to evaluate")
    requests = [
        Request(tuple(prompt_ids(task, tokenizer)), int(key(seed, i, task.id)[:12], 16))
        for i, task in enumerate(tasks)
    ]
    found = _generate(generator, requests, sampling, progress, ledger, identity)
    texts = [tokenizer.decode(list(one.token_ids), skip_special_tokens=True) for one in found]
    samples = [
        score(task, text, one, certainty or grounded)
        for task, text, one in zip(tasks, texts, found, strict=True)
    ]
    return Report(tuple(samples))


def grounded(task: ToolTask, completion: Completion) -> float:
    """Grounded feasibility of the call: an argument counts as given only if the user's text supports it."""
    return certainty_reward.certainty(task, completion, certainty_reward.Config(belief="grounded")).value


def score(task: ToolTask, text: str, generation: Generation, certainty: Certainty) -> Sample:
    """What one completion did, against its task."""
    completion = parse(text)
    return Sample(
        id=task.id, gold=task.gold, action=completion.action, well_formed=completion.well_formed,
        problem=completion.problem, exact=is_exact(task, completion) if completion.call else None,
        certainty=certainty(task, completion) if completion.call else None,
        tools=len(task.tools), tokens=len(generation.token_ids), stop=generation.stop, text=text,
    )  # fmt: skip


def _generate(
    generator: Generator,
    requests: Sequence[Request],
    sampling: Sampling,
    progress: bool,
    ledger: Ledger | None,
    identity: str,
) -> list[Generation]:
    from tqdm import tqdm

    found: dict[int, Generation] = {}
    keys = [key(identity, dataclasses.asdict(sampling), list(r.prompt_ids), r.seed) for r in requests]
    for i, name in enumerate(keys):
        kept = ledger.get(name) if ledger else None
        if kept is not None:
            found[i] = Generation(tuple(kept["token_ids"]), tuple(kept["logprobs"]), kept["stop"])
    todo = [i for i in range(len(requests)) if i not in found]
    with tqdm(
        total=len(requests),
        initial=len(found),
        desc="evaluation",
        unit="row",
        disable=None if progress else True,
    ) as bar:

        def done(place: int, generation: Generation) -> None:
            found[todo[place]] = generation
            if ledger is not None:
                ledger.add(keys[todo[place]], dataclasses.asdict(generation))
            bar.update()

        asyncio.run(generator.generate([requests[i] for i in todo], sampling, done))
    return [found[i] for i in range(len(requests))]
