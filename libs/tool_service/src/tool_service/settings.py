"""Numbers and switches in environment variables. Above: the services. Below: `resource`.

Raises: CannotServe, with the variable, what it says and what would be right.
"""

from collections.abc import Mapping

from tool_service.resource import CannotServe


def number(env: Mapping[str, str], variable: str, default: int, least: int, most: int) -> int:
    """A whole number within a range."""
    said = env.get(variable, "").strip()
    if not said:
        return default
    if not said.isascii() or not said.isdecimal() or not least <= int(said) <= most:
        raise CannotServe(
            f"{variable} is {said[:40]!r}; it must be a whole number from {least} to {most}."
        )
    return int(said)


def switch(env: Mapping[str, str], variable: str) -> bool:
    """`on` or `off`; off if it isn't set."""
    said = env.get(variable, "").strip().lower()
    if said not in ("", "on", "off"):
        raise CannotServe(f"{variable} is {said[:40]!r}; it must be on or off.")
    return said == "on"
