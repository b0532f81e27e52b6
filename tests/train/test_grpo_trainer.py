"""What our additions to TRL's trainer count, by hand."""

import pytest


def test_the_masked_share_counts_what_the_loss_is_made_of() -> None:
    import torch

    from train.grpo_trainer import masked_of

    # A completion of three tokens, one of two (padded), one of three with a reply in the middle, one cut off.
    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 0, 0]])
    # By tokens: 7 are trained. Dropped are the second of the first and the last of the third. TRL gives what
    # is not trained a ratio of 1; a 0 there would be nobody's loss.
    tokens = torch.tensor([[1.1, 0, 0.9], [1, 1, 0], [1, 1, 0], [1, 1, 1]])
    assert masked_of(tokens, mask).tolist() == [2, 7]
    # By completions: three are trained, the second is dropped.
    assert masked_of(torch.tensor([[1.2], [0.0], [0.7], [1.0]]), mask).tolist() == [1, 3]
    assert masked_of(torch.tensor([[0.0]]), torch.tensor([[1]])).tolist() == [1, 1]
    assert masked_of(torch.tensor([[1.0]]), torch.tensor([[0]])).tolist() == [0, 0]


@pytest.mark.parametrize("mode", ["sequence_mask", "token_mask"])
def test_trl_drops_what_is_out_of_bounds_by_a_ratio_of_0(mode: str) -> None:
    """The count rests on TRL's way to drop: a ratio of 0, and 1 outside of the mask."""
    import inspect

    from trl import GRPOTrainer

    source = inspect.getsource(GRPOTrainer._generate_and_score_completions)
    assert "per_token_logps_diff = (old_per_token_logps - sampling_per_token_logps) * mask" in source
    assert "invalid_mis_mask, value=0.0" in source
    assert f'"{mode}"' in source
