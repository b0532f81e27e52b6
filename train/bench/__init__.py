"""Benchmarks of training; `askrl bench NAME` finds them beside those of `eval.bench`."""
