"""The tools of the sandbox service, one module for each kind. Above: `service`. Below: `pool`."""

from msgspec import Struct

from sandbox.jobs import Jobs
from sandbox.pool import Pool
from sandbox.provider import Key, Provider
from sandbox.store import Store
from tool_service import Call


class Sandboxes(Struct, frozen=True):
    """What the tools stand on."""

    provider: Provider
    store: Store
    jobs: Jobs
    pool: Pool


def key_of(call: Call) -> Key:
    """Whose sandbox a call may use: the authenticated session's, whatever its arguments say."""
    return Key(call.tenant_id, call.session_id)


def noted(note: str, text: str) -> str:
    """A result's text, after a line that the model must know."""
    return f"{note}\n{text}" if note else text
