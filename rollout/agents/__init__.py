"""The roles of an episode: who asks, who drafts, who answers; and the baselines behind the same interface."""

from rollout.agents.protocol import Answerer, Drafter, Questioner, Reply, Roles, Said, Spent, State

__all__ = ["Answerer", "Drafter", "Questioner", "Reply", "Roles", "Said", "Spent", "State"]
