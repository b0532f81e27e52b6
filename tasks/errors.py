"""The one exception that bad input raises."""


class InputError(ValueError):
    """A recipe, flag, file or row that cannot be used.

    The message is one line for a person: it names the file, row, key or flag at fault and how to mend it.
    The command line prints it and exits with code 2.
    """
