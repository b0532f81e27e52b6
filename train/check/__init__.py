"""`askrl check`: what can be known about a run before it costs anything, without GPU, network or model."""

from train.check.report import check, preflight

__all__ = ["check", "preflight"]
