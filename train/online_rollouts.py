"""Groups of moves for TRL's trainer: sampled at one state of an on-policy run, each followed to its end.

A group is one task. The policy of the moment plays it to the end; one of its decisions is drawn; the moves of
the group are sampled there, from one prompt, and each that differs is followed by the same policy. The reward
is `rewards.consequence.returns`. Drafts are remembered for the whole training: the frozen roles never change.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from rewards.consequence.returns import Return, return_of
from rollout.agents.protocol import Answerer, Drafter, Reply, Roles, Spent, State
from rollout.agents.questioner import ModelQuestioner
from rollout.agents.speaker import Speaker
from rollout.episode import Episode, Limits, Stage, play
from rollout.forker import asked, states_of
from rollout.gather import gather
from rollout.generators import Generator, Sampling
from rollout.generators.gathered import Gathered
from rollout.generators.protocol import Ids
from rollout.recorder import Indexes
from rollout.seeds import derive
from tasks.move import Ask, Stop, parse
from tasks.multi_hop import MultiHopTask, pool_hash
from train.rollouts import Rollouts
from train.watchdog import Watchdog

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from train.grpo_trainer import Trainer

POLICY = "online"


@dataclass(frozen=True, slots=True)
class Sampled:
    """A move that was sampled at a state, and what it earned."""

    prompt_ids: Ids
    ids: Ids
    logprobs: tuple[float, ...]
    reward: float | None


@dataclass(frozen=True, slots=True)
class Frozen:
    """The roles that do not learn, and the limits of an episode."""

    drafter: Drafter
    answerer: Answerer
    limits: Limits


class EpisodeRollouts(Rollouts):
    """TRL's `rollout_func` for a questioner. `generator` is None where the policy itself generates."""

    def __init__(
        self,
        generator: Generator | None,
        tasks: Sequence[MultiHopTask],
        tokenizer: "PreTrainedTokenizerBase",
        frozen: Frozen,
        rule: Return,
        sampling: Sampling,
        seed: int,
        folder: Path,
        watchdog: Watchdog,
        *,
        batch_size: int = 64,
    ) -> None:
        super().__init__(generator, (), tokenizer, None, sampling, seed, folder, watchdog)
        self.tasks, self.frozen, self.rule, self.batch_size = tasks, frozen, rule, batch_size
        self.own = generator is None
        self.indexes = Indexes(kept=1024)
        self.counts: Counter[str] = Counter()

    def attach(self, trainer: "Trainer") -> None:
        """The trainer whose policy plays."""
        super().attach(trainer)
        if self.own:
            from rollout.generators.transformers import TransformersGenerator

            policy = trainer.accelerator.unwrap_model(trainer.model)
            self.generator = Gathered(TransformersGenerator(policy, self.tokenizer, self.batch_size))

    def sync_weights(self) -> None:
        """Publish the policy of the moment, where another engine plays it."""
        if not self.own:
            super().sync_weights()

    def __call__(self, prompts: Sequence[Any], trainer: "Trainer") -> dict[str, list[Any]]:
        """The moves of this rank's groups, each beside its reward."""
        step, size = trainer.state.global_step, trainer.num_generations
        self._asked = self._asked + 1 if step == self._step else 1
        self._step = step
        first = trainer.accelerator.process_index * len(prompts)
        self.counts.clear()
        # Of this batch alone, and in the event loop of this call.
        groups = [
            self._group(
                self.tasks[trainer.rows[place]["task_index"]],
                derive(self.seed, step, self._asked, first + place),
                size,
            )
            for place in range(0, len(prompts), size)
        ]
        found = [one for group in asyncio.run(self._together(groups)) for one in group]
        self._log(trainer)
        return {
            "prompt_ids": [list(one.prompt_ids) for one in found],
            "completion_ids": [list(one.ids) for one in found],
            "logprobs": [list(one.logprobs) for one in found],
            "consequence": [one.reward for one in found],
        }

    async def _together(self, groups: Sequence[Any]) -> list[list[Sampled]]:
        return await gather(groups)

    async def _group(self, task: MultiHopTask, seed: int, size: int) -> list[Sampled]:
        if self.generator is None:
            raise RuntimeError("attach a trainer first")
        speaker = Speaker(
            self.generator, self.tokenizer, self.sampling.max_new_tokens, self.sampling.temperature
        )
        questioner = ModelQuestioner(speaker)
        pool = self.indexes.of(digest := pool_hash(task.pool), task)
        stage = Stage(task.question, pool, digest, POLICY, {})
        roles = Roles(questioner, self.frozen.drafter, self.frozen.answerer)
        run = await play(stage, roles, self.frozen.limits, seed)
        self._count_run(run, task)
        turn = Random(derive(seed, "state")).choice(list(states_of(run)) or [0])
        before = run.turns[:turn]
        in_hand = run.retrieved(turn)
        state = State(
            task.question, pool.paragraphs(in_hand), before[-1].draft if before else run.draft.text,
            tuple((one.question, one.answer) for one in before),
        )  # fmt: skip
        prompt = questioner.prompt(state)
        ids = speaker.prompt_ids(prompt)
        seeds = [derive(seed, turn, place) for place in range(size)]
        made = await speaker.generate_each(ids, seeds, self.sampling.temperature)
        replies = [
            Reply(parse(text), text, prompt, Spent())
            for text in map(speaker.spoken, (one.token_ids for one in made))
        ]
        ends: dict[str, Episode] = {}
        distinct = {asked(reply.move): reply for reply in replies}

        async def follow(key: str, reply: Reply) -> None:
            ends[key] = await play(
                stage, roles, self.frozen.limits, seed, prefix=before, draft=run.draft, first=reply
            )

        await gather(follow(key, reply) for key, reply in distinct.items())
        wanted = task.gold.graph.wanted
        done = task.gold.graph.coverage(in_hand) == 1.0
        sampled = []
        for one, reply in zip(made, replies, strict=True):
            end = ends[asked(reply.move)]
            stopped = end.stop in ("policy_stop", "malformed")
            reward = return_of(end.turns[turn:], stopped, in_hand, wanted, self.rule)
            malformed = isinstance(reply.move, Stop) and bool(reply.move.malformed)
            if reward is not None and malformed:
                reward -= self.rule.malformed
            sampled.append(Sampled(ids, one.token_ids, one.logprobs, reward))
            self._count_move(reply.move, done, malformed)
        return sampled

    def _count_run(self, run: Episode, task: MultiHopTask) -> None:
        self.counts["runs"] += 1
        self.counts["asks"] += len(run.turns)
        covered = task.gold.graph.coverage(run.retrieved(len(run.turns)))
        self.counts["covered"] += round(1000 * (covered or 0.0))

    def _count_move(self, move: Ask | Stop, done: bool, malformed: bool) -> None:
        stop = isinstance(move, Stop)
        self.counts["done" if done else "open"] += 1
        self.counts["done stop" if done else "open ask"] += stop if done else not stop
        self.counts["malformed"] += malformed
        if isinstance(move, Ask):
            self.counts["questions"] += 1
            self.counts["characters"] += len(move.question)

    def _log(self, trainer: "Trainer") -> None:
        """What has to be watched every step: stop rates, coverage, the length of questions."""
        counts = self.counts
        shares = {
            "stop_given_done": ("done stop", "done", 1.0),
            "ask_given_not_done": ("open ask", "open", 1.0),
            "malformed": ("malformed", "moves", 1.0),
            "question_length": ("characters", "questions", 1.0),
            "asks": ("asks", "runs", 1.0),
            "coverage": ("covered", "runs", 1000.0),
        }
        counts["moves"] = counts["done"] + counts["open"]
        metrics = trainer._metrics["train"]
        for name, (part, whole, scale) in shares.items():
            if counts[whole]:
                metrics[f"questioner/{name}"].append(counts[part] / counts[whole] / scale)
