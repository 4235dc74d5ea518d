"""`brain mcp discover`: an MCP server's tools as bindings. Below: `listing`, `mcp_bindings`.

The bindings go to stdout and everything else to stderr, so that the one can be piped.
"""

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable

from brain.cli.mcp_bindings import Bindings, Wanted, bindings_of
from brain.cli.mcp_merge import CannotMerge, HostFile, host_file
from brain.cli.plain import plain, shown_json
from brain.config.bindings import http_url, tenant_id, variable

_HEADER_VALUE = re.compile(r"[!-~]([ -~]*[!-~])?")


class CannotDiscover(Exception):
    """The message is one clear line."""


def mcp(given: argparse.Namespace) -> int:
    """`brain mcp discover URL`."""
    try:
        return _discover(given)
    except (CannotDiscover, CannotMerge) as error:
        print(f"brain: {plain(str(error))}", file=sys.stderr)
        return 1


def _discover(given: argparse.Namespace) -> int:
    url: str = _valid("URL", given.url, http_url)
    tenants = [_valid("--tenant", each, tenant_id) for each in given.tenant or ["local"]]
    token = _token(given.token_env)
    host = None if given.merge is None else host_file(given.merge)
    # The SDK takes half a second to import: not before it is clear that it is needed.
    from brain.engine.tool.mcp.listing import list_tools  # noqa: PLC0415

    try:
        listing = asyncio.run(list_tools(url, token, os.environ))
    except ValueError as error:  # a proxy variable; the message never repeats its value
        raise CannotDiscover(f"{error}.") from None
    if isinstance(listing, str):
        raise CannotDiscover(listing)
    wanted = Wanted(
        url=url,
        tenants=tenants,
        token_env=given.token_env,
        prefix=given.prefix,
        names={} if host is None else host.names(url),
        taken=frozenset() if host is None else host.taken(url),
    )
    found = bindings_of(listing.tools, wanted)
    if listing.unfinished is not None:
        found.notes.append(listing.unfinished)
    _say(found.notes)
    if host is None:
        print(shown_json(found.made, 2))
        return 0
    complete = listing.unfinished is None and not found.unreadable
    return _merge(host, url, found, complete=complete, yes=given.yes)


def _merge(host: HostFile, url: str, found: Bindings, *, complete: bool, yes: bool) -> int:
    _say(host.merged(url, found, complete=complete))
    difference = host.difference()
    if not difference:
        _say([f"{host.path} has {len(found.made)} of the server's tools already, as they are now."])
        return 0
    print(plain(difference), end="", flush=True)
    if not yes and not _agreed(f"Write {host.path}? [y/N] "):
        raise CannotMerge("Nothing was written. With --yes nobody is asked.")
    host.write()
    _say([f"Wrote {host.path}. Restart Brain, and it has the tools as they are now."])
    return 0


def _agreed(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _token(name: str | None) -> str | None:
    if name is None:
        return None
    value = os.environ.get(_valid("--token-env", name, variable), "")
    if not _HEADER_VALUE.fullmatch(value):
        raise CannotDiscover(f"{name} isn't set, or holds what an HTTP header can't.")
    return value


def _valid(what: str, value: str, rule: Callable[[str], str]) -> str:
    try:
        return rule(value)
    except ValueError as error:
        raise CannotDiscover(f"{what} {error}.") from None


def _say(sentences: list[str]) -> None:
    for sentence in sentences:
        print(plain(sentence), file=sys.stderr)
