"""What launched recipes take from the tests: scripted completions, a reward that always has a spread."""

from collections.abc import Sequence

from rewards.score import Score
from rollout.generators import Request
from tasks.completion import Completion
from tasks.tool_task import ToolTask
from train import mini_model

TEXTS = (
    "<reasoning> the user wants this . </reasoning> <answer> it is done . </answer>",
    "<reasoning> a value is missing . </reasoning> <answer> which city ? </answer>",
    "<answer> sorry , no tool can do this . </answer>",
    "which city ?",
)


def by_seed(request: Request) -> Sequence[int]:
    """One of the texts, the same for the same request on any rank."""
    words = mini_model.tokenizer()
    return [*words(TEXTS[request.seed % len(TEXTS)])["input_ids"], words.eos_token_id]


def vowels(task: ToolTask, completion: Completion) -> Score:
    """A number that differs between any two samples of a model that knows nothing yet."""
    return Score(sum(map(completion.answer.count, "aeiou")) / 10, {}, "counted")
