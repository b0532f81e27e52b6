"""Every policy plays, as what it is said to be; replaying it changes nothing at all."""

import asyncio
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rollout import generators
from rollout.agents import Said, Spent
from rollout.agents.config import MiniRole, ModelRole
from rollout.agents.drafter import ModelAnswerer
from rollout.agents.policies import config
from rollout.agents.policies.closed import SelfConsistent
from rollout.episode import Episode
from rollout.generators import Request, checkpoint
from rollout.graphs import Golds
from rollout.record import Config, run
from rollout.shards import read
from tasks.errors import InputError
from tasks.multi_hop import MultiHopTask
from tests.rollout import hand_tasks
from tests.rollout.agents import scripts
from tests.rollout.hand_roles import TEXTS, task

SCRIPTED = generators.config.Scripted("scripted", "tests.rollout.agents.scripts.talk")
TASK = {"use": "tests.rollout.hand_tasks"}
KINDS: dict[str, config.Config] = {
    "prompted": config.Prompted(),
    "drafter_only": config.DrafterOnly("drafter_only"),
    "single_model": config.SingleModel("single_model"),
    "evidence_blind": config.EvidenceBlind("evidence_blind"),
    "cap_aware": config.CapAware("cap_aware"),
    "self_ask": config.SelfAsk("self_ask"),
    "ircot": config.Ircot("ircot"),
    "par2_rag": config.Par2Rag("par2_rag"),
    "depth_one": config.DepthOne("depth_one"),
    "query_expansion": config.QueryExpansion("query_expansion"),
    "template": config.Template("template"),
    "answer_length": config.AnswerLength("answer_length"),
    "gold": config.GoldEvidence("gold"),
    "oracle": config.Oracle("oracle"),
}
MARK = "gold0mark"
TALK = scripts.talk
PAIRED = ("random_question", "compute_budget", "replay")


def role(model: Path) -> ModelRole:
    return ModelRole(str(model), generator=SCRIPTED, max_new_tokens=60)


def play(folder: Path, model: Path, policy: config.Config, **changes: Any) -> list[Episode]:
    settings: dict[str, Any] = {"seeds": (0, 1), "cap": 4} | changes
    run(Config(TASK, role(model), role(model), folder, policy=policy, **settings))
    return sorted(read(folder), key=lambda one: (one.task, one.seed))


def marked(name: str) -> MultiHopTask:
    """A task whose gold would show wherever it is read."""
    one = task(name)
    needs = tuple(dataclasses.replace(need, text=f"{MARK} {need.text}") for need in one.gold.graph.needs)
    graph = dataclasses.replace(one.gold.graph, needs=needs)
    gold = dataclasses.replace(one.gold, answers=(MARK,), cluster=MARK, graph=graph)
    return dataclasses.replace(one, gold=gold)


@pytest.fixture(scope="module")
def played(tiny_qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """A recording of each policy: 6 tasks under 2 seeds."""
    root = tmp_path_factory.mktemp("policies")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkpoint, "tokenizer", functools.cache(checkpoint.tokenizer))
        patch.setattr(hand_tasks, "task", marked)
        yield record_all(root, tiny_qwen)


@pytest.fixture(scope="module")
def prompts(played: dict[str, Path], tiny_qwen: Path) -> dict[str, list[str]]:
    """All that a model was told under each policy, in an episode with an empty memo."""
    told: dict[str, list[str]] = {}
    for name, folder in played.items():
        heard = told[name] = list[str]()

        def overheard(request: Request, heard: list[str] = heard) -> list[int]:
            heard.append(scripts.words().decode(list(request.prompt_ids)))
            return TALK(request)

        policy = KINDS.get(name) or paired(name, played["prompted"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scripts, "talk", overheard)
            play(folder.with_name(f"{name}_told"), tiny_qwen, policy, seeds=(0,), concurrency=1)
    return told


def paired(name: str, records: Path) -> config.Config:
    """A policy that goes with a recording."""
    kinds = (config.RandomQuestion, config.ComputeBudget, config.Replay)
    return kinds[PAIRED.index(name)](name, records)  # type: ignore[arg-type]


def record_all(root: Path, tiny_qwen: Path) -> dict[str, Path]:
    for name, policy in KINDS.items():
        play(root / name, tiny_qwen, policy)
    for name in PAIRED:
        play(root / name, tiny_qwen, paired(name, root / "prompted"))
    return {name: root / name for name in (*KINDS, *PAIRED)}


def episodes(folder: Path) -> list[Episode]:
    return sorted(read(folder), key=lambda one: (one.task, one.seed))


def test_every_kind_is_tried() -> None:
    assert len((*KINDS, *PAIRED)) == len(config.Config.__args__) == 17


@pytest.mark.parametrize("name", [*KINDS, *PAIRED])
def test_a_replay_changes_nothing(
    name: str, played: dict[str, Path], tiny_qwen: Path, tmp_path: Path
) -> None:
    """The determinism control: same evidence, same answers, exactly."""
    again = play(tmp_path / "again", tiny_qwen, config.Replay("replay", played[name]))
    for one, other in zip(episodes(played[name]), again, strict=True):
        assert (one.task, one.seed) == (other.task, other.seed)
        assert [turn.question for turn in one.turns] == [turn.question for turn in other.turns]
        for asks in range(len(one.turns) + 1):
            assert one.retrieved(asks) == other.retrieved(asks)
        assert [turn.answer for turn in one.turns] == [turn.answer for turn in other.turns]
        assert [turn.draft for turn in one.turns] == [turn.draft for turn in other.turns]
        assert one.answer == other.answer


@pytest.mark.parametrize("name", [*KINDS, *PAIRED])
def test_every_kind_plays_every_task_and_seed(name: str, played: dict[str, Path]) -> None:
    found = episodes(played[name])
    assert len(found) == 12
    assert {one.policy for one in found} == {name}
    asking = name not in ("drafter_only", "answer_length", "gold", "compute_budget")
    assert any(one.turns for one in found) is asking


def test_ceilings_hold_all_that_is_needed(played: dict[str, Path]) -> None:
    for name in ("gold", "oracle"):
        golds = Golds.of(played[name])
        for one in episodes(played[name]):
            graph = golds.of_task(one.suite, one.task, "").graph
            assert graph.coverage(one.retrieved(len(one.turns))) == 1.0
    assert all(one.start and not one.turns for one in episodes(played["gold"]))


def test_random_questions_are_of_other_tasks_and_as_many(played: dict[str, Path]) -> None:
    asked: dict[str, set[str]] = {}
    for one in episodes(played["prompted"]):
        asked.setdefault(one.task, set()).update(turn.question for turn in one.turns)
    for one, other in zip(episodes(played["prompted"]), episodes(played["random_question"]), strict=True):
        assert len(other.turns) == len(one.turns)
        others = set[str]().union(*(texts for task, texts in asked.items() if task != one.task))
        assert {turn.question for turn in other.turns} <= others


def test_a_compute_budget_is_spent_and_not_much_more(played: dict[str, Path]) -> None:
    """Token parity: the first draft counts too, and no more than the last answer is above."""
    for one, other in zip(episodes(played["prompted"]), episodes(played["compute_budget"]), strict=True):
        assert not other.turns
        assert 0 <= other.spent.total - one.spent.total < other.draft.spent.total


def test_the_same_facets_are_asked_of_every_task(played: dict[str, Path]) -> None:
    for one in episodes(played["template"]):
        assert one.turns[0].question.endswith("?")
        assert len({turn.question for turn in one.turns}) == len(one.turns) == 4


def test_only_single_model_has_no_drafter(played: dict[str, Path]) -> None:
    assert not any(
        turn.answer or turn.draft for one in episodes(played["single_model"]) for turn in one.turns
    )
    assert all(turn.draft for one in episodes(played["prompted"]) for turn in one.turns)


def test_an_exhaustive_drafter_is_told_so(played: dict[str, Path]) -> None:
    drafts = [[one.draft.text for one in episodes(played[n])] for n in ("answer_length", "drafter_only")]
    assert drafts[0] != drafts[1]


def test_the_list_of_depth_one_is_paid_for_on_the_first_turn_alone(played: dict[str, Path]) -> None:
    for one in episodes(played["depth_one"]):
        costs = [turn.question_tokens for turn in one.turns]
        assert costs[0] > 0
        assert not any(costs[1:])


def test_a_paired_control_needs_the_run_that_it_is_paired_with(
    played: dict[str, Path], tiny_qwen: Path, tmp_path: Path
) -> None:
    for number, kind in enumerate((config.RandomQuestion, config.ComputeBudget, config.Replay)):
        policy = kind(kind.__annotations__["kind"].__args__[0], played["prompted"])
        with pytest.raises(InputError, match=r"has no run of task .* with seed 7"):
            play(tmp_path / str(number), tiny_qwen, policy, seeds=(7,))


def test_a_replay_needs_the_run_folder(played: dict[str, Path], tiny_qwen: Path, tmp_path: Path) -> None:
    (shard,) = (played["prompted"] / "records").glob("*.jsonl")
    with pytest.raises(InputError, match=r"no run folder of rollout.record: no manifest\.json"):
        play(tmp_path / "a", tiny_qwen, config.Replay("replay", shard))


def test_policies_that_prompt_want_a_model(tmp_path: Path) -> None:
    mini = MiniRole("mini")
    for number, name in enumerate(("self_ask", "answer_length")):
        with pytest.raises(InputError, match=f"policy {name} .* scripted"):
            run(Config(TASK, mini, mini, tmp_path / str(number), policy=KINDS[name]))


def test_counts_below_one_are_refused() -> None:
    for kind, name in ((config.DepthOne, "n"), (config.QueryExpansion, "n"), (config.Par2Rag, "breadth")):
        with pytest.raises(InputError, match=f"{name} is 0"):
            kind(kind.__annotations__["kind"].__args__[0], 0)


def test_no_prompt_holds_gold_but_those_of_ceilings(prompts: dict[str, list[str]]) -> None:
    assert all(prompts.values())
    assert {name for name, told in prompts.items() if MARK in "".join(told)} == {"oracle"}


def test_only_cap_aware_tells_how_many_questions_are_left(prompts: dict[str, list[str]]) -> None:
    left = {
        name: [int(found) for found in re.findall(r"ask (\d+) more questions", "".join(told))]
        for name, told in prompts.items()
    }
    assert {name for name, counts in left.items() if counts} == {"cap_aware"}
    counts = left["cap_aware"]  # of six episodes, one after the other
    assert counts[0] == 4
    assert all(after in (before - 1, 4) for before, after in itertools.pairwise(counts))


def test_an_evidence_blind_questioner_is_told_no_evidence(prompts: dict[str, list[str]]) -> None:
    of_questioner = {
        name: "".join(one for one in prompts[name] if "exactly one JSON object" in one)
        for name in ("prompted", "evidence_blind")
    }
    assert any(text in of_questioner["prompted"] for _, text in TEXTS)
    assert of_questioner["evidence_blind"]
    assert not any(text in of_questioner["evidence_blind"] for _, text in TEXTS)


@pytest.mark.parametrize("name", sorted({*KINDS} - {"cap_aware"}))
def test_a_smaller_cap_is_the_start_of_the_same_run(
    name: str, played: dict[str, Path], tiny_qwen: Path, tmp_path: Path
) -> None:
    shorter = play(tmp_path / "r", tiny_qwen, KINDS[name], cap=2)
    for one, other in zip(episodes(played[name]), shorter, strict=True):
        assert other.turns == one.turns[:2]


def test_cap_aware_reads_another_prompt_under_another_cap(
    played: dict[str, Path], tiny_qwen: Path, tmp_path: Path
) -> None:
    shorter = play(tmp_path / "r", tiny_qwen, KINDS["cap_aware"], cap=2)
    for one, other in zip(episodes(played["cap_aware"]), shorter, strict=True):
        assert (one.turns[0].state if one.turns else one.state) != (
            other.turns[0].state if other.turns else other.state
        )


class Answers:
    """A speaker whose answers come one after the other, at ten tokens each."""

    def __init__(self, *texts: str) -> None:
        self.texts, self.asked = texts, list[int]()

    async def say_each(self, prompt: str, seeds: Sequence[int], temperature: float) -> list[Said]:
        start = sum(self.asked)
        self.asked.append(len(seeds))
        return [Said(self.texts[(start + i) % len(self.texts)], Spent(8, 2)) for i in range(len(seeds))]


@pytest.mark.parametrize(
    ("budget", "asked", "answer"),
    [
        (0, [1], "Ann"),  # one at least
        (10, [1], "Ann"),
        (25, [1, 2], "Tom"),
        (40, [1, 3], "Ann"),  # two of each: the first
        (100, [1, 8, 1], "Ann"),  # Ann Tom tom Ann, Ann Tom tom Ann, Ann Tom
    ],
)
def test_answers_until_the_tokens_are_spent(budget: int, asked: list[int], answer: str) -> None:
    speaker = Answers("Ann", "Tom", " tom", "ann  ")
    consistent = SelfConsistent(ModelAnswerer(speaker, 3), budget)  # type: ignore[arg-type]
    said = asyncio.run(consistent.answer(task().question, (), "", 0))
    assert speaker.asked == asked
    assert said == Said(answer, Spent(8 * sum(asked), 2 * sum(asked)))
