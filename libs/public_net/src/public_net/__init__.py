"""Reach public addresses on the internet, and no others. See the README."""

from public_net.address import IPAddress, why_not_public
from public_net.backend import GuardedBackend
from public_net.guard import Guard, Refused, Unresolved
from public_net.resolver import Resolver, system_resolver
from public_net.target import BadURL, Target, read_url
from public_net.unpack import OFFERED, BadPacking, Unpacker

__all__ = [
    "OFFERED",
    "BadPacking",
    "BadURL",
    "Guard",
    "GuardedBackend",
    "IPAddress",
    "Refused",
    "Resolver",
    "Target",
    "Unpacker",
    "Unresolved",
    "read_url",
    "system_resolver",
    "why_not_public",
]
