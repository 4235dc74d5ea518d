"""What the edge is told when it is built. Above: the wiring. Below: nothing."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MIB = 1024 * 1024


@dataclass(frozen=True)
class EngineTls:
    """How an engine on another machine is known to be one.

    `authority` is the PEM certificate of who signs the engines' own; None for those that the
    machine trusts. `name` is the name in their certificates, if it isn't that in their addresses.
    """

    authority: bytes | None = None
    name: str | None = None


@dataclass(frozen=True)
class EdgeSettings:
    """Where the engines are, who may call, and how much of everything is too much.

    `engine_targets` are each `unix:/path` or `host:port`; `engine_key` is sent as a bearer token.
    `api_keys` maps a tenant to its keys, any of which is good. `public_url` is how clients reach
    this server. `max_message_bytes` is for a message with images: one of the largest size, which
    base64 makes a third larger, has room in it, and some text. A follower's queue holds frames that
    its client hasn't read yet.
    """

    engine_targets: tuple[str, ...]
    engine_key: str | None = field(repr=False)
    api_keys: Mapping[str, tuple[str, ...]] = field(repr=False)
    public_url: str
    engine_tls: EngineTls | None = None
    max_body_bytes: int = 4 * MIB
    max_message_bytes: int = 8 * MIB
    max_metadata_bytes: int = 16 * 1024
    rpc_timeout_seconds: float = 30.0
    turn_end_timeout_seconds: float = 60.0
    compaction_timeout_seconds: float = 600.0
    join_timeout_seconds: float = 10.0
    heartbeat_seconds: float = 10.0
    token_check_seconds: float = 2.0
    follower_max_frames: int = 1024
    follower_max_bytes: int = 1 * MIB
