"""Lines that are on the disk once the call returns."""

from io import FileIO

from tasks.errors import InputError


def append(file: FileIO, line: bytes) -> None:
    """Write a line whole, unbuffered. Raises InputError, naming the file, where the disk will not have it."""
    try:
        written = file.write(line)
    except OSError as error:
        raise InputError(f"{file.name}: cannot be written ({error.strerror})") from None
    if written != len(line):
        raise InputError(f"{file.name}: the disk is full; make room, then start again to go on")
