"""What every provider does for the service, whatever its SDK and its wire are like."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import pytest

from brain_testing.sandbox_servers.stand_in import StandIn
from brain_testing.sandbox_servers.written import Written
from sandbox.provider import STATE, Gone, Key, Provider

pytestmark = pytest.mark.requirement("BOX-02")
OpenProvider = Callable[..., Awaitable[Provider]]
KEY = Key("acme", "ses_1")


async def test_a_sandbox_is_found_by_whom_it_is_for(provider: Provider) -> None:
    assert await provider.find(KEY) is None
    made = await provider.create(KEY)
    other = await provider.create(Key("acme", "ses_2"))

    assert await provider.find(KEY) == made
    assert other != made
    assert await provider.find(Key("acme2", "ses_1")) is None
    assert await provider.alive(made)


async def test_a_script_runs_in_it_and_both_streams_and_its_exit_code_come_back(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    code = await provider.execute(made, "echo one; printf 'two\\0é' >&2; exit 3", written)
    assert (code, written.stdout, written.stderr) == (3, b"one\n", "two\0é".encode())


async def test_a_script_has_an_empty_input(provider: Provider, written: Written) -> None:
    made = await provider.create(KEY)
    assert await provider.execute(made, "cat; echo read", written) == 0
    assert written.stdout == b"read\n"


async def test_a_script_that_a_signal_ended_says_so_in_its_exit_code(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    assert await provider.execute(made, "kill -KILL $$", written) == 128 + 9
    assert await provider.execute(made, "kill -TERM $$", written) == 128 + 15
    assert (written.stdout, written.stderr) == (b"", b"")


async def test_what_a_script_writes_comes_while_it_runs_without_a_newline_too(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    wait = f"until [ -e {STATE}/go ]; do sleep 0.05; done"
    running = asyncio.create_task(provider.execute(made, f"printf half; {wait}; echo d", written))

    await written.began()
    assert written.stdout == b"half"
    await provider.upload(made, f"{STATE}/go", b"")
    assert await running == 0
    assert written.stdout == b"halfd\n"


async def test_much_output_comes_whole_and_in_order(provider: Provider, written: Written) -> None:
    made = await provider.create(KEY)
    await provider.execute(made, "seq 1 40000; seq 40000 -1 1 >&2", written)
    assert written.stdout == "".join(f"{n}\n" for n in range(1, 40001)).encode()
    assert written.stderr == "".join(f"{n}\n" for n in range(40000, 0, -1)).encode()


async def test_a_slow_reader_loses_nothing(provider: Provider, written: Written) -> None:
    made = await provider.create(KEY)

    async def slowly(stream: str, piece: bytes) -> None:
        await asyncio.sleep(0.001)
        await written("stdout", piece)

    await provider.execute(made, "head -c 300000 /dev/zero | tr '\\0' x", slowly)
    assert written.stdout == b"x" * 300_000


async def test_a_script_of_120_kib_full_of_quotes_runs(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    head, tail = "cat <<'END'\n", "\nEND"
    text = 'it\'s "$HOME" `x` \\ é '
    room = 120 * 1024 - len(head) - len(tail)
    body = text * (room // len(text.encode()))
    assert await provider.execute(made, head + body + tail, written) == 0
    assert written.stdout.decode() == body + "\n"


async def test_a_file_of_8_mib_is_written_with_its_folders(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    data = bytes(range(256)) * (8 * 1024 * 4)
    path = f"{STATE}/a b/it's.bin"
    await provider.upload(made, path, data)

    script = f'sha256sum <"{path}"; [ -O "{path}" ] && echo mine'
    assert await provider.execute(made, script, written) == 0
    assert written.stdout == f"{hashlib.sha256(data).hexdigest()}  -\nmine\n".encode()


async def test_a_file_that_is_there_is_replaced(provider: Provider, written: Written) -> None:
    made = await provider.create(KEY)
    for data in (b"long and longer", b"short"):
        await provider.upload(made, f"{STATE}/file", data)
    await provider.execute(made, f"cat {STATE}/file", written)
    assert written.stdout == b"short"


async def test_the_workspace_can_be_made_and_written(provider: Provider, written: Written) -> None:
    made = await provider.create(KEY)
    script = f"mkdir -p {provider.workspace} && cd {provider.workspace} && echo x >f && cat f"
    assert await provider.execute(made, script, written) == 0
    assert written.stdout == b"x\n"


async def test_a_killed_process_ends_with_its_children(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    script = "echo up; (trap '' TERM; exec sleep 4321) & setsid sleep 4321 & wait"
    running = asyncio.create_task(provider.execute(made, script, written, name="p1"))
    await written.began()
    await provider.kill(made, "p1")

    assert await running == 128 + 9
    assert await _sleeping(provider, made) == b""


async def test_a_call_that_is_cancelled_leaves_a_process_that_can_be_killed(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    script = "echo up; sleep 4321 & sleep 4321"
    running = asyncio.create_task(provider.execute(made, script, written, name="p1"))
    await written.began()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await provider.kill(made, "p1")

    assert await _sleeping(provider, made) == b""
    assert await provider.execute(made, "true", written) == 0


async def test_a_job_outlives_the_service_and_is_there_for_the_next(
    provider: Provider, open_provider: OpenProvider, written: Written
) -> None:
    made = await provider.create(KEY)
    await provider.spawn(made, "job", f"until [ -e {STATE}/go ]; do sleep 0.05; done; echo >/tmp/x")
    following = await open_provider()
    assert await following.find(KEY) == made
    await following.upload(made, f"{STATE}/go", b"")
    wait = "until [ -e /tmp/x ]; do sleep 0.05; done; echo done"
    assert await following.execute(made, wait, written) == 0
    assert written.stdout == b"done\n"


async def test_an_ended_sandbox_is_gone_with_its_processes_and_files(
    provider: Provider, written: Written
) -> None:
    made = await provider.create(KEY)
    await provider.end(made)
    await provider.end(made)

    assert not await provider.alive(made)
    assert await provider.find(KEY) is None
    with pytest.raises(Gone):
        await provider.execute(made, "true", written)
    with pytest.raises(Gone):
        await provider.upload(made, f"{STATE}/file", b"")


async def test_a_sandbox_that_the_provider_ended_is_gone(
    provider: Provider, stand_in: StandIn, written: Written
) -> None:
    made = await provider.create(KEY)
    await provider.execute(made, "true", written)
    await stand_in.lose(made)

    with pytest.raises(Gone):
        await provider.execute(made, "true", written)
    assert not await provider.alive(made)
    again = await provider.create(KEY)
    assert again != made
    assert await provider.execute(again, "true", written) == 0


async def test_a_service_that_starts_anew_takes_a_lost_sandbox_for_gone(
    provider: Provider, stand_in: StandIn, open_provider: OpenProvider, written: Written
) -> None:
    made = await provider.create(KEY)
    await stand_in.lose(made)
    following = await open_provider()
    with pytest.raises(Gone):
        await following.execute(made, "true", written)
    await following.end(made)


@pytest.mark.parametrize("network", [False, True])
async def test_a_sandbox_reaches_the_network_only_if_that_is_allowed(
    network: bool, open_provider: OpenProvider, stand_in: StandIn, written: Written
) -> None:
    provider = await open_provider(network=network)
    made = await provider.create(KEY)
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        code = await provider.execute(made, f"true 2>/dev/null </dev/tcp/127.0.0.1/{port}", written)
    assert (code == 0) is network


async def test_no_key_reaches_a_sandbox(
    provider: Provider, stand_in: StandIn, written: Written
) -> None:
    made = await provider.create(KEY)
    await provider.execute(made, "env; cat /proc/*/environ /proc/*/cmdline", written)
    assert b"HOME=" in written.stdout
    assert stand_in.key.encode() not in written.stdout
    assert stand_in.key not in str(stand_in.created)


async def test_ids_of_tenants_and_sessions_stay_here(provider: Provider, stand_in: StandIn) -> None:
    await provider.create(KEY)
    asked = str(stand_in.created)
    assert KEY.label in asked
    assert KEY.tenant_id not in asked
    assert KEY.session_id not in asked


async def _sleeping(provider: Provider, sandbox: str) -> bytes:
    written = Written()
    await provider.execute(sandbox, "pgrep -fa '^sleep 4321' || true", written)
    return written.stdout
