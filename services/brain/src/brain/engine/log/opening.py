"""What may be wrong with a log when it is opened. Above: every log, `wiring`."""


class LogCannotOpen(Exception):
    """The log can't be opened; the message says why and what to do, for an operator."""
