"""`accelerate launch -m train RECIPE [key.sub=value ...]`: a recipe without its launch line."""

import sys

from tasks.errors import InputError
from train import launch, reported

if __name__ == "__main__":  # processes started by spawn run this file again
    with reported():
        if len(sys.argv) < 2:
            raise InputError("no recipe given; use python -m train RECIPE [key.sub=value ...]")
    launch(sys.argv[1], sys.argv[2:])
