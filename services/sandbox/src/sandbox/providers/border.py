"""Where an SDK's exceptions become the service's. Above: the providers. Below: `provider`.

What a failure means depends on when it came: before a request was sent, after it, or while a script
ran. A provider says what an exception tells by itself; the rest is decided here, for all of them.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Literal

from sandbox.provider import Gone, Lost, Reason, Refused

Told = Reason | Literal["gone"] | None
"""What an exception says: a definite refusal, that the sandbox is gone, or neither."""

_LONGEST_DETAIL = 300


class Border:
    """Translates for one provider. `secrets` are cut out of what it says."""

    def __init__(self, told: Callable[[Exception], Told], secrets: Iterable[str]) -> None:
        self._told = told
        self._secrets = tuple(secrets)

    @contextmanager
    def asking(self) -> Generator[None]:
        """Around what changes nothing: without an answer, nothing happened."""
        with self._translated(acts=False):
            yield

    @contextmanager
    def acting(self) -> Generator[None]:
        """Around what may have had an effect, unless the answer is a definite no."""
        with self._translated(acts=True):
            yield

    @contextmanager
    def running(self) -> Generator[None]:
        """Around the time that a script runs: however it fails, the script had begun."""
        try:
            yield
        except (Refused, Lost, Gone):
            raise
        except Exception as error:
            raise Lost(self.line(error)) from error

    def line(self, error: Exception) -> str:
        """What an exception says, in one line for the log, without secrets."""
        text = " ".join(f"{type(error).__name__}: {error}".split())
        for secret in self._secrets:
            text = text.replace(secret, "[secret]")
        return text if len(text) <= _LONGEST_DETAIL else text[:_LONGEST_DETAIL] + "…"

    @contextmanager
    def _translated(self, *, acts: bool) -> Generator[None]:
        try:
            yield
        except (Refused, Lost, Gone):
            raise
        except Exception as error:
            told = self._told(error)
            if told == "gone":
                raise Gone(self.line(error)) from error
            if told is None and acts:
                raise Lost(self.line(error)) from error
            raise Refused(told or "unreachable", self.line(error)) from error


def causes(error: BaseException) -> Generator[BaseException]:
    """An exception and what it came from."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__
