"""Logs as JSON lines on stderr, or readable ones on a terminal. Above: `command`."""

import logging
import sys

import structlog


def configure() -> None:
    """Set up structlog and the standard library's logging alike."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sys.stderr.isatty():
        plain = structlog.dev.plain_traceback  # the default one shows local variables: secrets
        rendering: list[structlog.typing.Processor] = [
            structlog.dev.ConsoleRenderer(exception_formatter=plain)
        ]
    else:
        rendering = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
