"""A path as a person wrote it: what no file system can hold is told, instead of failing deep inside."""

from pathlib import Path

from tasks.errors import InputError


def user_path(text: str) -> Path:
    """The path, its `~` expanded. Raises InputError for an empty one, an unknown user, and no characters."""
    if not text:
        raise InputError("the path is empty; name a file or folder")
    if "\0" in text or any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise InputError(f"{text!r} holds what no path can (a null byte, half of a character); write another")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise InputError(f"{text!r}: there is no such user; write the folder out") from None
