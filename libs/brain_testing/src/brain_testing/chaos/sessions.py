"""The drivers' clients: what they ask for and what they are told, session after session.

Above: `driver`. Below: `asking`, `followers`, `plans`.
"""

import asyncio
from random import Random

import httpx2

from brain_testing.chaos.asking import Asker
from brain_testing.chaos.followers import Follower
from brain_testing.chaos.plans import MODEL, plan
from brain_testing.chaos.told import Told
from brain_testing.chaos.tools import NAMES

_DELIVERIES = {"queue": 6, "steer": 2, "interrupt": 1, "reject": 1}
_TOOLS = {"quick": 6, "slow": 4, "stream": 4, "broken": 1, "hang": 2}
_WORK = {"send": 56, "interrupt": 10, "withdraw": 8, "compact": 6, "repeat": 10, "wait": 10}


class Client:
    """One application at work with one session after another."""

    def __init__(self, name: str, urls: list[str], rng: Random, over: asyncio.Event) -> None:
        self.told: list[Told] = []
        self._name = name
        self._rng = rng
        self._over = over
        self._asker = Asker(urls, rng)
        self._count = 0
        self._quiet = asyncio.Event()
        self._followers: list[Follower] = []

    async def run(self) -> None:
        """Work until it is over."""
        while not self._over.is_set():
            told = Told(f"{self._name}-{len(self.told)}")
            self.told.append(told)
            await self._create(told)
            if not told.session_id:
                return
            for _ in range(self._rng.randint(1, 2)):
                self._follow(told)
            for _ in range(self._rng.randint(3, 20)):
                if not self._over.is_set():
                    await self._act(told)
            if self._rng.random() < 0.3:
                await self._close(told)

    async def finish(self) -> None:
        """Let the followers come to the end of their sessions, in which nobody acts any more."""
        self._quiet.set()
        await asyncio.gather(*(follower.end() for follower in self._followers))

    async def close(self) -> None:
        """Let go of everything."""
        for follower in self._followers:
            await follower.drop()
        await self._asker.close()

    def _follow(self, told: Told) -> None:
        told.views.append([])
        self._followers.append(Follower(self._asker, told.session_id, told.views[-1], self._quiet))

    async def _act(self, told: Told) -> None:
        what = _choose(self._rng, _WORK)
        if what == "send":
            await self._send(told)
        elif what == "interrupt":
            await self._interrupt(told)
        elif what == "withdraw":
            await self._withdraw(told)
        elif what == "compact":
            await self._compact(told)
        elif what == "repeat":
            await self._repeat(told)
        else:
            await asyncio.sleep(self._rng.uniform(0, 0.4))

    async def _post(
        self, told: Told, path: str, body: dict[str, object] | None, *expected: int
    ) -> httpx2.Response | None:
        """The answer if it is one of those that can be explained."""
        answer = await self._asker.post(path, body)
        if answer is None:
            told.unanswered.append(path)
        elif answer.status_code not in expected:
            told.strange.append(f"{path}: {answer.status_code} {answer.text}")
            return None
        return answer

    async def _create(self, told: Told) -> None:
        body: dict[str, object] = {
            "harness": "pi",
            "config": {"model": MODEL, "tools": list(NAMES)},
            "metadata": {"name": told.name},
        }
        answer = await self._post(told, "/sessions", body, 201)
        if answer is not None:
            told.session_id = answer.json()["id"]

    async def _send(self, told: Told) -> None:
        self._count += 1
        name = f"{self._name}-{self._count}"
        body: dict[str, object] = {
            "content": self._plan(name),
            "delivery": _choose(self._rng, _DELIVERIES),
        }
        answer = await self._post(told, f"/sessions/{told.session_id}/messages", body, 202, 409)
        if answer is not None and answer.status_code == 202:
            told.accepted[name] = answer.json()
        elif answer is not None:
            told.refused.add(name)

    def _plan(self, name: str) -> str:
        steps = [
            [_choose(self._rng, _TOOLS) for _ in range(self._rng.randint(1, 3))]
            for _ in range(self._rng.choice([0, 1, 1, 2, 3]))
        ]
        return plan(name, steps, fail=self._rng.choice([0, 0, 0, 1, 2]))

    async def _interrupt(self, told: Told) -> None:
        body: dict[str, object] = {"keep_queue": self._rng.random() < 0.5}
        answer = await self._post(told, f"/sessions/{told.session_id}/interrupt", body, 200)
        if answer is not None and answer.json()["interrupted"]:
            told.interrupted.add(answer.json()["turn_id"])

    async def _withdraw(self, told: Told) -> None:
        path = f"/sessions/{told.session_id}/messages"
        waiting = await self._asker.once("GET", path)
        if waiting is None or waiting.status_code != 200 or not waiting.json()["messages"]:
            return
        message = self._rng.choice(waiting.json()["messages"])["message_id"]
        answer = await self._asker.once("DELETE", f"{path}/{message}")
        if answer is not None and answer.status_code == 204:
            told.withdrawn.add(message)

    async def _compact(self, told: Told) -> None:
        answer = await self._post(told, f"/sessions/{told.session_id}/compact", None, 200, 409)
        if answer is not None and answer.status_code == 200:
            told.compacted.append(answer.json())

    async def _repeat(self, told: Told) -> None:
        answers = await self._asker.repeat()
        if answers is not None:
            told.repeats += 1
            if answers[0] != answers[1]:
                told.differing.append(answers)

    async def _close(self, told: Told) -> None:
        answer = await self._post(told, f"/sessions/{told.session_id}/close", None, 200)
        told.closed = answer is not None
        await self._repeat(told)


def _choose(rng: Random, weights: dict[str, int]) -> str:
    return rng.choices(list(weights), weights=list(weights.values()))[0]
