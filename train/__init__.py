"""How a policy changes: GRPO, its run directory, the launcher and the command line."""

import contextlib
import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence

from rollout.generators.protocol import GenerationError
from tasks.errors import InputError

__all__ = ["launch", "reported"]


def launch(file: str, arguments: Sequence[str] | None = None) -> None:
    """Run the job of a recipe; `arguments` are `key.sub=value` overrides (default: the command line's).

    This is what the first line of a recipe calls. Bad input is told in one line and exits with code 2.
    """
    with reported():
        from train.recipe import load

        load(file, sys.argv[1:] if arguments is None else arguments).run()


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Turn an `InputError` into one line on stderr and exit code 2; rank 0 speaks for all.

    The failure of an engine or a server is one line too, and exit code 1.
    """
    try:
        yield
    except InputError as error:
        rank = int(os.environ.get("RANK", "0"))
        if rank:
            # All ranks read the same recipe and fail alike. The launcher stops them all as soon as one has
            # failed, so the others wait until rank 0 has spoken. Who is still alive then has an error of its
            # own.
            time.sleep(10)
        told = " ".join(str(error).split())
        print(f"askrl: {told}{f' (rank {rank})' if rank else ''}", file=sys.stderr, flush=True)
        raise SystemExit(2) from None
    except GenerationError as error:  # an engine or a server failed; the message names it
        logging.getLogger(__name__).debug("generation failed", exc_info=True)
        print(f"askrl: {' '.join(str(error).split())}", file=sys.stderr, flush=True)
        raise SystemExit(1) from None
