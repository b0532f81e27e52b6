"""Rows of our own in each suite's original format."""

import json
from pathlib import Path
from typing import Any


def write(folder: Path, *rows: Any, name: str = "rows.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def musique(**change: Any) -> dict[str, Any]:
    row = {
        "id": "2hop__7_8", "question": "Where was the author of Dune born?", "answer": "Tacoma",
        "answer_aliases": ["Tacoma, Washington"], "answerable": True,
        "paragraphs": [{"idx": i, "title": f"T{i}", "paragraph_text": f"text {i}"} for i in range(3)],
        "question_decomposition": [
            {"id": 7, "question": "Dune >> author", "answer": "Frank Herbert", "paragraph_support_idx": 2},
            {"id": 8, "question": "#1 >> place of birth", "answer": "Tacoma", "paragraph_support_idx": 0},
        ],
    }  # fmt: skip
    return {**row, **change}


def strategyqa(**change: Any) -> dict[str, Any]:
    row = {
        "qid": "q", "question": "Could a llama fit in a bus?", "answer": True,
        "decomposition": ["How big is a llama?", "How big is a bus?", "Is #1 below #2?"],
        "evidence": [
            [["no_evidence", ["Llama-3", "Llama-4"]], ["no_evidence"], ["operation"]],
            [[["Llama-9"]], [["Bus-1"]], ["operation"]],
        ],
    }  # fmt: skip
    return {**row, **change}


def paragraph(title: str, index: int, **change: Any) -> dict[str, Any]:
    row = {"title": title, "para_index": index, "contents": f"{title} {index}.", "id": "strategy_0"}
    return {**row, **change}


def corpus(folder: Path, others: int = 40) -> Path:
    named = [paragraph("Llama", 3), paragraph("Llama", 4), paragraph("Bus", 1)]
    rest = [paragraph("Other", i) for i in range(others)]
    return write(folder, *rest, *named, name="paragraphs.jsonl")


def two_wiki(**change: Any) -> dict[str, Any]:
    row = {
        "_id": "w", "type": "compositional", "question": "Who is the mother of the director of Foo?",
        "context": [
            ["Bar", ["Bar is a song."]],
            ["Foo (film)", ["Foo is a film.", " Ann Lee directed it."]],
            ["Ann Lee", ["Ann Lee is a daughter of Eve Lee."]],
        ],
        "supporting_facts": [["Foo (film)", 0], ["Ann Lee", 0]],
        "evidences": [["Foo", "director", "Ann Lee"], ["Ann Lee", "mother", "Eve Lee"]], "answer": "Eve Lee",
        "answer_id": "Q5",
    }  # fmt: skip
    return {**row, **change}


def frames(**change: Any) -> dict[str, Any]:
    row = {"id": "0", "Question": "Which of the two is older?", "Answer": "Ann", "reasoning_types": "Tabular"}
    return {**row, **change}
