"""From a `policy:` section to who plays each task."""

import dataclasses
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rollout.agents.build import Built
from rollout.agents.drafter import ModelAnswerer, ModelDrafter
from rollout.agents.memo import MemoAnswerer, MemoDrafter
from rollout.agents.policies import closed, config, fixed, prompted
from rollout.agents.policies.config import Config
from rollout.agents.protocol import Questioner, Roles
from rollout.agents.questioner import ModelQuestioner
from rollout.agents.speaker import Speaker
from rollout.episode import Limits
from rollout.seeds import derive
from rollout.shards import MANIFEST, read
from tasks import strict
from tasks.errors import InputError
from tasks.multi_hop import Gold, MultiHopSet, Question


@dataclass(frozen=True, slots=True)
class Arm:
    """Who plays a task under a seed, and the uids in hand from the start."""

    roles: Callable[[Question, int], Roles]
    start: Callable[[Question], Sequence[str]] = lambda question: ()

    def for_task(self, question: Question, seed: int) -> tuple[Roles, Sequence[str]]:
        """Roles and start of one episode."""
        return self.roles(question, seed), self.start(question)


def build(policy: Config, built: Built, tasks: MultiHopSet, limits: Limits) -> Arm:
    """The arm of a policy. Only the two ceilings read the gold of `tasks`. Raises InputError."""
    roles = built.roles
    if isinstance(policy, config.Prompted):
        return Arm(lambda question, seed: roles)
    if isinstance(policy, config.DrafterOnly):
        return _asking(roles, fixed.Walk(()))
    if isinstance(policy, config.GoldEvidence):
        golds = _golds(tasks)
        silent = _asking(roles, fixed.Walk(()))
        return Arm(silent.roles, lambda question: sorted(map(str, golds[question.id].graph.wanted)))
    if isinstance(policy, config.Oracle):
        golds = _golds(tasks)
        return Arm(
            lambda question, seed: dataclasses.replace(roles, questioner=fixed.Oracle(golds[question.id]))
        )
    if isinstance(policy, config.Template):
        return Arm(lambda question, seed: dataclasses.replace(roles, questioner=fixed.facets(question)))
    if isinstance(policy, config.Replay):
        return _replay(policy.records, built, tasks, limits)
    if isinstance(policy, config.RandomQuestion):
        return _random(roles, policy.records)
    if isinstance(policy, config.AnswerLength):
        return _exhaustive(roles)
    if isinstance(policy, config.ComputeBudget):
        return _self_consistent(roles, policy.records)
    if built.speaker is None:
        raise InputError(f"policy {policy.kind} prompts a model; the questioner is scripted")
    return _prompting(policy, built, built.speaker, limits)


def _prompting(policy: Config, built: Built, speaker: Speaker, limits: Limits) -> Arm:
    roles, pin = built.roles, built.pins["questioner"]
    plain = without_schema(speaker)
    if isinstance(policy, config.SingleModel):
        alone = dataclasses.replace(roles, drafter=fixed.Silent())
        return _asking(alone, ModelQuestioner(speaker, "policy_single_model"))
    if isinstance(policy, config.EvidenceBlind):
        return _asking(roles, ModelQuestioner(speaker, "policy_evidence_blind"))
    if isinstance(policy, config.CapAware):
        return _asking(roles, prompted.CapAware(speaker, limits.cap))
    if isinstance(policy, config.SelfAsk):
        return _asking(roles, prompted.FreeText(plain, "policy_self_ask", prompted.follow_up))
    if isinstance(policy, config.Ircot):
        return _asking(roles, prompted.FreeText(plain, "policy_ircot", prompted.next_thought))
    if isinstance(policy, config.Par2Rag):
        refine = ModelQuestioner(speaker, "policy_par2_refine")
        listing = prompted.Listing(plain, "policy_par2_plan", policy.breadth, built.memo, pin, refine)
        return _asking(roles, listing)
    if isinstance(policy, config.DepthOne):
        return _asking(roles, prompted.Listing(plain, "policy_depth_one", policy.n, built.memo, pin))
    assert isinstance(policy, config.QueryExpansion)
    return _asking(roles, prompted.Listing(plain, "policy_expansion", policy.n, built.memo, pin))


def without_schema(speaker: Speaker) -> Speaker:
    """The same model, free to write text."""
    sampling = speaker.sampling
    return Speaker(speaker.generator, speaker.tokenizer, sampling.max_new_tokens, sampling.temperature)


def _asking(roles: Roles, questioner: Questioner) -> Arm:
    changed = dataclasses.replace(roles, questioner=questioner)
    return Arm(lambda question, seed: changed)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a control needs to know of the run that it is paired with."""

    questions: tuple[str, ...]
    tokens: int
    """After the first draft, which a control begins with too."""


Runs = Mapping[tuple[str, int], Earlier]


def _earlier(records: Path) -> Runs:
    return {
        (one.task, one.seed): Earlier(
            tuple(turn.question for turn in one.turns), one.spent.total - one.draft.spent.total
        )
        for one in read(records)
    }


def _of(runs: Runs, question: Question, seed: int, records: Path) -> Earlier:
    try:
        return runs[question.id, seed]
    except KeyError:
        raise InputError(
            f"policy.records: {records} has no run of task {question.id!r} with seed {seed}; record it first"
        ) from None


def _replay(records: Path, built: Built, tasks: MultiHopSet, limits: Limits) -> Arm:
    played, runs = build(_policy_of(records), built, tasks, limits), _earlier(records)

    def of(question: Question, seed: int) -> Roles:
        walk = fixed.Walk(_of(runs, question, seed, records).questions)
        return dataclasses.replace(played.roles(question, seed), questioner=walk)

    return Arm(of, played.start)


def _policy_of(records: Path) -> Config:
    """The policy of a recording, as its manifest has it."""
    place = records / MANIFEST
    try:
        section = json.loads(place.read_text(encoding="utf-8"))["policy"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(
            f"policy.records: {records} is no run folder of rollout.record: no {MANIFEST} that can be read"
        ) from None
    return strict.build(config.Section, {"policy": section}, str(place)).policy


def _random(roles: Roles, records: Path) -> Arm:
    runs = _earlier(records)
    by_task: dict[str, list[str]] = {}
    for (task, _), run in sorted(runs.items()):
        by_task.setdefault(task, []).extend(run.questions)

    def of(question: Question, seed: int) -> Roles:
        asks = len(_of(runs, question, seed, records).questions)
        draw = random.Random(derive("random_question", seed, question.id))
        others = [task for task in by_task if task != question.id and by_task[task]]
        if asks and not others:
            raise InputError(
                f"policy.records: {records} holds questions of this task alone; record more tasks"
            )
        questions = [draw.choice(by_task[draw.choice(others)]) for _ in range(asks)]
        return dataclasses.replace(roles, questioner=fixed.Walk(questions))

    return Arm(of)


def _exhaustive(roles: Roles) -> Arm:
    memo = roles.drafter
    if not (isinstance(memo, MemoDrafter) and isinstance(memo.drafter, ModelDrafter)):
        raise InputError("policy answer_length tells a model to be exhaustive; the drafter is scripted")
    told = dataclasses.replace(memo.drafter, draft_template="policy_exhaustive")
    drafter = MemoDrafter(told, memo.memo, f"{memo.pin}/exhaustive")
    return _asking(dataclasses.replace(roles, drafter=drafter), fixed.Walk(()))


def _self_consistent(roles: Roles, records: Path) -> Arm:
    runs, memo = _earlier(records), roles.answerer
    if not (isinstance(memo, MemoAnswerer) and isinstance(memo.answerer, ModelAnswerer)):
        raise InputError("policy compute_budget samples answers of a model; the answerer is scripted")
    inner = memo.answerer

    def of(question: Question, seed: int) -> Roles:
        budget = _of(runs, question, seed, records).tokens
        answerer = closed.SelfConsistent(inner, budget)
        return dataclasses.replace(roles, questioner=fixed.Walk(()), answerer=answerer)

    return Arm(of)


def _golds(tasks: MultiHopSet) -> Mapping[str, Gold]:
    return {task.question.id: task.gold for task in tasks.tasks}
