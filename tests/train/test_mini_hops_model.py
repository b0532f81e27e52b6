"""The tiny questioner: its tokenizer keeps moves and prompts, its teacher is as imperfect as it should be."""

from pathlib import Path

from tasks import mini_hops
from tasks.move import STOP_TEXT, Ask, Stop, parse, spell
from train import mini_hops_model
from train.mini_hops_model import WarmStart, demonstrations, tokenizer

FEW = WarmStart(episodes=90, steps=2, batch=8)


def test_moves_survive_the_tokenizer_byte_by_byte() -> None:
    words = tokenizer()
    asks = [
        f"who is the {relation} of {name} ?"
        for relation in mini_hops.RELATIONS
        for name in mini_hops.NAMES[::9]
    ]
    for text in (STOP_TEXT, *(spell(Ask(ask)) for ask in asks)):
        assert words.decode(words(text)["input_ids"]) == text
    assert len(words(STOP_TEXT)["input_ids"]) == 1


def test_every_prompt_is_read_without_unknown_words_in_512_tokens() -> None:
    words = tokenizer()
    for prompt, move in demonstrations(FEW):
        message = [{"role": "user", "content": prompt}]
        text = words.apply_chat_template(message, add_generation_prompt=True, tokenize=False) + move
        ids = words(text)["input_ids"]
        assert words.unk_token_id not in ids
        assert len(ids) < 400


def test_the_teacher_asks_on_and_rarely_stops() -> None:
    moves = [parse(text) for _, text in demonstrations(FEW)]
    assert not any(isinstance(move, Stop) and move.malformed for move in moves)
    assert 0.02 < sum(isinstance(move, Stop) for move in moves) / len(moves) < 0.3


def test_the_cache_is_keyed_by_content(tmp_path: Path) -> None:
    folder = mini_hops_model.build(FEW, tmp_path)
    assert mini_hops_model.build(FEW, tmp_path) == folder
    assert [entry.name for entry in tmp_path.iterdir()] == [folder.name]
    assert folder.name.startswith("mini_hops-")
