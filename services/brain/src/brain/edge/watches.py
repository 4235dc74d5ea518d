"""Whose stream each follower is on. Above: `sse`. Below: one `watch` for each engine in use.

A follower begins with any engine. If that one doesn't have the session, it names the engine that
has, and the follower goes there; when that engine is lost, it begins anew. What it missed
meanwhile is in the log.
"""

import asyncio

from brain.edge.engine_client import EngineClient
from brain.edge.follower import Follower
from brain.edge.watch import REJOIN_DELAY_SECONDS, Watch


class Watches:
    """All followers of this process."""

    def __init__(self, engine: EngineClient) -> None:
        self._engine = engine
        self._entry = Watch(engine.entry, self._moved)
        self._owners: dict[str, Watch] = {}
        self._on: dict[Follower, Watch] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Open the stream to begin with."""
        self._entry.start()

    def end_streams(self) -> None:
        """End every follower, now and from now on: the server is about to stop."""
        for watch in (self._entry, *self._owners.values()):
            watch.end_streams()
        for follower in self._on:
            follower.end()  # some may be between two streams

    async def close(self) -> None:
        """End everything."""
        for watch in (self._entry, *self._owners.values()):
            await watch.close()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def add(self, follower: Follower) -> None:
        """Begin to follow; the follower's phase tells what came of it."""
        self._put(follower, self._entry)

    def remove(self, follower: Follower) -> None:
        """Stop following."""
        watch = self._on.pop(follower, None)
        if watch is not None:
            watch.remove(follower)
            self._retire(watch)

    def rejoin_later(self, follower: Follower) -> None:
        """The follower's place was lost; join again after a moment."""
        watch = self._on.get(follower)
        if watch is not None:
            watch.rejoin_later(follower)

    def _put(self, follower: Follower, watch: Watch) -> None:
        self._on[follower] = watch
        watch.add(follower)

    def _moved(self, follower: Follower, owner: str) -> None:
        """Its session is elsewhere: with `owner`, or nobody knows yet."""
        before = self._on.pop(follower, None)
        if before is None:
            return
        before.remove(follower)
        self._retire(before)
        follower.lose()
        if follower.over:
            return
        if owner:
            self._put(follower, self._watch_of(owner))
        else:
            self._begin_anew([follower])

    def _watch_of(self, owner: str) -> Watch:
        watch = self._owners.get(owner)
        if watch is None:
            watch = Watch(lambda: self._engine.link(owner), self._moved, lambda: self._lost(owner))
            self._owners[owner] = watch
            watch.start()
        return watch

    def _lost(self, owner: str) -> None:
        """An engine is gone; whoever has its sessions next is asked for at the entry."""
        watch = self._owners.pop(owner)
        followers = watch.followers
        for follower in followers:
            watch.remove(follower)
            follower.lose()
        self._begin_anew(followers)

    def _begin_anew(self, followers: list[Follower]) -> None:
        for follower in followers:
            self._on[follower] = self._entry
        asyncio.get_running_loop().call_later(REJOIN_DELAY_SECONDS, self._add_again, followers)

    def _add_again(self, followers: list[Follower]) -> None:
        for follower in followers:
            if self._on.get(follower) is self._entry and not follower.over:
                self._entry.add(follower)

    def _retire(self, watch: Watch) -> None:
        """Close the stream to an owner that nobody here asks for any more."""
        for owner, open_watch in list(self._owners.items()):
            if open_watch is watch and not watch.followers:
                del self._owners[owner]
                closing = asyncio.get_running_loop().create_task(watch.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
