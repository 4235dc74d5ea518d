"""What a provider reads from the environment. Above: the providers. Below: tool_service."""

from collections.abc import Mapping, Sequence

from tool_service import CannotServe

TEMPLATE = "SANDBOX_TEMPLATE"


def required(provider: str, env: Mapping[str, str], *names: str) -> Sequence[str]:
    """The values of variables that must be set. Raises: CannotServe, which names all missing."""
    missing = [name for name in names if not env.get(name)]
    if missing:
        raise CannotServe(
            f"SANDBOX_PROVIDER={provider} needs {' and '.join(missing)}: set "
            f"{'it' if len(missing) == 1 else 'them'} to the key of your account."
        )
    return [env[name] for name in names]


def template(env: Mapping[str, str]) -> str | None:
    """What sandboxes are made from, in the provider's own words, if the operator chose it."""
    return env.get(TEMPLATE) or None
