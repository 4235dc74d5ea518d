"""Inspection tokens where there are many engines: each edge finds the one that knows the token."""

import pytest

from brain_testing.api import Api
from brain_testing.desk import Desk, within
from brain_testing.plugin import StartBrain
from brain_testing.reading import read_until

pytestmark = [pytest.mark.requirement("INS-01", "REC-05"), pytest.mark.xdist_group("commands")]


async def test_a_token_is_good_at_every_edge_until_its_call_returns(
    start_brain: StartBrain, desk: Desk, postgres_url: str
) -> None:
    binding = desk.binding("look", inspect_session=True)
    one = await start_brain(tools=[binding], extra={"store": postgres_url})
    other = await start_brain(tools=[binding], extra={"store": postgres_url})
    async with Api(one.url, one.key) as api:
        session_id = await api.create("look")
        await api.send(session_id, "/call look {}")
        call = await desk.next_call()
        token = call.body["inspection_token"]

        async with Api(other.url, token) as service:
            assert await service.events(session_id) == await api.events(session_id)
            another = await api.create("look")
            assert (await service.http.get(f"/sessions/{another}")).status_code == 403
            async with service.follow(session_id) as frames:
                await within(read_until(frames, "tool.call"))
            call.say("done")
            await api.until_idle(session_id)
            assert (await service.http.get(f"/sessions/{session_id}")).status_code == 401
