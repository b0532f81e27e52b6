"""Benchmarks of speed: `askrl bench NAME` runs `eval.bench.NAME.run`, whose last line is one JSON object."""
