"""Baselines and controls behind the interface of the trained questioner; docs/baselines.md lists them."""

from rollout.agents.policies.build import Arm, build
from rollout.agents.policies.config import Config, Prompted

__all__ = ["Arm", "Config", "Prompted", "build"]
