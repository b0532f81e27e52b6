"""`askrl`: the command line. Every command imports what it needs when it is called."""

import argparse
import os
import select
import sys
from collections.abc import Sequence
from pathlib import Path

from train import launch, reported

_RECIPE = "a recipe (YAML)"
_OVERRIDES = "changes to the recipe, as if written in it: trainer.max_steps=10 rewards.2.weight=0.5"


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run the command; the exit code is 0, or 2 for bad input."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    # argparse takes `RECIPE --num-processes 2 key=value` for the end of the overrides at the flag.
    if any(argument.startswith("-") for argument in rest) or (rest and not hasattr(options, "overrides")):
        parser.error(f"unknown arguments: {' '.join(rest)}")
    if rest:
        options.overrides = [*options.overrides, *rest]
    try:
        with reported():
            code = int(options.command(options) or 0)
            sys.stdout.flush()
            return code
    except BrokenPipeError:
        if not _has_no_reader():
            raise
        return 0  # `askrl ... | head`: who reads has read enough
    return 2


def _has_no_reader() -> bool:
    """Whether standard output is a pipe that nobody reads; what is left in it is then dropped."""
    pipe = sys.stdout.fileno()
    poll = select.poll()
    poll.register(pipe, select.POLLOUT)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), pipe)  # the interpreter flushes once more
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="askrl", description="Train language models to know when to ask and what to ask."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="run a recipe in this process")
    _takes_recipe(run)
    run.set_defaults(command=_run)

    check = commands.add_parser(
        "check", help="check a recipe: batch, memory, known failures, rewards; no GPU, network or model"
    )
    _takes_recipe(check)
    check.add_argument(
        "--num-processes", type=int, default=1, metavar="N", help="ranks (GPUs) of the run; default 1"
    )
    check.set_defaults(command=_check)

    score = commands.add_parser("score", help="score completions with a recipe's rewards")
    score.add_argument("recipe", help=_RECIPE)
    score.add_argument("file", help='JSON lines: {"task": <row>, "completion": <text>}')
    score.add_argument("overrides", nargs="*", default=[], metavar="key.sub=value", help=_OVERRIDES)
    score.set_defaults(command=_score)

    graphs = commands.add_parser("graphs", help="print the need graphs of a multi-hop data set")
    graphs.add_argument("suite", metavar="SUITE", help="musique, strategyqa or 2wiki")
    graphs.add_argument("file", type=Path, metavar="FILE", help="its rows, JSON lines in the original format")
    graphs.add_argument(
        "--paragraphs", type=Path, metavar="FILE", help="leave out what lacks a paragraph here"
    )
    graphs.add_argument("--summary", action="store_true", help="totals instead of graphs")
    graphs.set_defaults(command=_graphs)

    show = commands.add_parser("show", help="print a recorded episode as a transcript beside its graph")
    show.add_argument("file", type=Path, metavar="FILE", help="a run folder of rollout.record, or a shard")
    show.add_argument("--task", metavar="ID", help="of this task; default the first")
    show.add_argument("--seed", type=int, help="of this rollout seed; default the first")
    show.add_argument("--graphs", type=Path, metavar="FILE", help="default: graphs.jsonl in the run folder")
    show.set_defaults(command=_show)

    readings = commands.add_parser(
        "readings", help="read recorded episodes: what was found, and when to stop"
    )
    readings.add_argument(
        "records", nargs="+", type=Path, metavar="RECORDS", help="run folders of rollout.record, or shards"
    )
    readings.add_argument(
        "--graphs", type=Path, metavar="FILE", help="default: graphs.jsonl in the run folder"
    )
    readings.add_argument("--json", action="store_true", help="one JSON object an arm")
    readings.add_argument("--plot", type=Path, metavar="FILE.png", help="draw coverage and stop decisions")
    readings.set_defaults(command=_readings)

    compare = commands.add_parser("compare", help="decide between two recordings: paired, with intervals")
    compare.add_argument("a", type=Path, metavar="A", help="a run folder of rollout.record, or a shard")
    compare.add_argument("b", type=Path, metavar="B", help="another, of the same tasks, seeds and settings")
    compare.add_argument(
        "--reading", default="equal-spend", metavar="R", help="equal-spend (default), own-stop or charged"
    )
    compare.add_argument(
        "--caps", default="", metavar="4,8,12", help="read at most so many questions, once for each"
    )
    compare.add_argument("--secondaries", metavar="M,M", help="metrics beside coverage")
    compare.add_argument("--intersect", action="store_true", help="compare what the two share")
    for side in ("a", "b"):
        compare.add_argument(
            f"--policy-{side}", metavar="NAME", help=f"of {side.upper()}, where it holds several"
        )
    compare.add_argument("--seed", type=int, default=0, help="of the resampling")
    compare.add_argument("--graphs", type=Path, metavar="FILE", help="default: graphs.jsonl in each folder")
    compare.add_argument("--json", action="store_true", help="one JSON object a comparison")
    compare.set_defaults(command=_compare)

    export = commands.add_parser(
        "export", help="label forked states and write training rows in TRL's formats"
    )
    export.add_argument("records", metavar="RECORDS", help="a run folder of rollout.fork")
    export.add_argument("output_dir", metavar="FOLDER", help="where the rows go")
    export.add_argument(
        "overrides", nargs="*", default=[], metavar="key.sub=value", help="rules: rules.margin=0.1 split=all"
    )
    export.set_defaults(command=_export)

    bench = commands.add_parser(
        "bench", help="measure a part of the toolkit; the last line is one JSON object"
    )
    bench.add_argument("name", metavar="NAME", help="a module of eval.bench or train.bench")
    bench.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the benchmark")
    bench.set_defaults(command=_bench)
    return parser


def _takes_recipe(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", help=_RECIPE)
    parser.add_argument("overrides", nargs="*", default=[], metavar="key.sub=value", help=_OVERRIDES)


def _run(options: argparse.Namespace) -> None:
    launch(options.recipe, options.overrides)


def _check(options: argparse.Namespace) -> None:
    from train.check import check

    check(options.recipe, options.overrides, options.num_processes)


def _score(options: argparse.Namespace) -> None:
    from train import score

    score.run(options.recipe, options.file, options.overrides)


def _graphs(options: argparse.Namespace) -> None:
    from train import graphs

    graphs.run(options.suite, options.file, options.paragraphs, options.summary)


def _show(options: argparse.Namespace) -> None:
    from train import show

    show.run(options.file, options.task, options.seed, options.graphs)


def _readings(options: argparse.Namespace) -> None:
    from eval import arm_readings

    arm_readings.run(options.records, options.graphs, options.json, options.plot)


def _compare(options: argparse.Namespace) -> None:
    from eval import compare
    from tasks.errors import InputError

    caps = options.caps.split(",") if options.caps else [None]
    if not all(cap is None or cap.isdecimal() for cap in caps):
        raise InputError(f"--caps {options.caps}: numbers of questions with commas between, such as 4,8,12")
    compare.run(
        options.a, options.b, reading=options.reading, caps=[cap and int(cap) for cap in caps],
        secondaries=options.secondaries.split(",") if options.secondaries is not None else None,
        intersect=options.intersect, seed=options.seed, graphs=options.graphs,
        policies=(options.policy_a, options.policy_b), as_json=options.json,
    )  # fmt: skip


def _export(options: argparse.Namespace) -> None:
    from tasks.strict import build
    from train import export, overrides

    fields = {"records": options.records, "output_dir": options.output_dir}
    overrides.apply(fields, options.overrides)
    export.run(build(export.Config, fields, "export", Path.cwd()))


def _bench(options: argparse.Namespace) -> int | None:
    import importlib
    import pkgutil

    import eval.bench
    import train.bench
    from tasks.errors import InputError
    from tasks.strict import closest

    rooms = (eval.bench, train.bench)
    modules = {
        m.name: f"{room.__name__}.{m.name}" for room in rooms for m in pkgutil.iter_modules(room.__path__)
    }
    if options.name not in modules:
        raise InputError(f"unknown benchmark {options.name!r}; {closest(options.name, list(modules))}")
    return importlib.import_module(modules[options.name]).run(options.arguments)


if __name__ == "__main__":
    sys.exit(main())
