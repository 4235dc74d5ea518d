"""An interrupt ends what is awaited inside a scope, and nothing else."""

import asyncio

import pytest

from brain.engine.harness.interrupt import Interrupt


async def forever() -> None:
    await asyncio.Event().wait()


async def test_an_interrupt_ends_the_block_and_no_exception_leaves_it() -> None:
    interrupt = Interrupt()
    asyncio.get_running_loop().call_soon(interrupt.set, "client")

    with interrupt.scope() as scope:
        await forever()

    assert scope.cancelled
    assert interrupt.reason == "client"
    await asyncio.sleep(0)  # the task itself isn't cancelled


async def test_only_the_first_reason_counts() -> None:
    interrupt = Interrupt()
    interrupt.set("close")
    interrupt.set("client")

    assert interrupt.reason == "close"


async def test_a_block_that_was_left_in_time_is_not_touched() -> None:
    interrupt = Interrupt()
    with interrupt.scope() as scope:
        await asyncio.sleep(0)
    interrupt.set("client")
    await asyncio.sleep(0)

    assert not scope.cancelled


async def test_a_cancellation_from_outside_still_cancels_the_task() -> None:
    interrupt = Interrupt()
    inside = asyncio.Event()

    async def work() -> None:
        with interrupt.scope():
            inside.set()
            await forever()

    task = asyncio.create_task(work())
    await inside.wait()
    interrupt.set("client")
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_error_of_the_block_itself_leaves_it() -> None:
    with pytest.raises(ZeroDivisionError), Interrupt().scope():
        raise ZeroDivisionError
