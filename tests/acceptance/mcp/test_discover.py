"""`brain mcp discover` against scripted servers (MCP-02): what is printed, changed and refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from brain.config.bindings import ToolBinding
from brain_testing.commands import BIN, clean_env
from brain_testing.mcp_server import McpServer, pages, plays, result, tool
from brain_testing.raw_script import Send, response

pytestmark = [pytest.mark.requirement("MCP-02"), pytest.mark.xdist_group("commands")]

ODD: list[Any] = [
    tool("read file"),
    tool("read.file"),
    tool("7zip"),
    tool("x" * 100),
    tool("\x1b]0;evil\x07\n"),
    tool("quiet", description=""),
    tool("windy", description="w" * 1_000_000),
    tool("giant", inputSchema={"type": "object", "description": "g" * 100_000}),
    tool("remote", inputSchema={"type": "object", "$ref": "https://evil.example/schema"}),
    tool("listy", inputSchema={"type": "array"}),
    tool("deep", outputSchema=json.loads('{"not":' * 120 + "{}" + "}" * 120)),
    tool("twice"),
    tool("twice"),
    {"name": "bare"},
    "no tool at all",
    tool("shaped", outputSchema={"type": "object", "required": ["n"]}),
]


class Discovered:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def bindings(self) -> list[dict[str, Any]]:
        return json.loads(self.out)


async def discover(url: str, *arguments: str, **env: str) -> Discovered:
    process = await asyncio.create_subprocess_exec(
        *(str(BIN / "brain"), "mcp", "discover", url, *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_env(**env),
    )
    async with asyncio.timeout(45):
        out, err = await process.communicate()
    assert process.returncode is not None
    assert b"Traceback" not in err
    return Discovered(process.returncode, out.decode(), err.decode())


def offering(*listed: list[Any]) -> McpServer:
    return McpServer(result("never"), tools_list=pages(*listed))


async def test_every_page_becomes_bindings_that_a_host_config_takes() -> None:
    async with offering([tool("a"), tool("b")], [tool("c")]) as server:
        url = server.url("/mcp")
        found = await discover(url, "--tenant", "acme", "--token-env", "KEY", KEY="t0k3n")
        assert {each.header("Authorization") for each in server.requests} == {"Bearer t0k3n"}
    assert (found.code, found.err) == (0, "")
    assert [each["mcp_tool"] for each in found.bindings] == ["a", "b", "c"]
    assert found.bindings[0] == {
        "name": "a",
        "description": "It is a.",
        "input_schema": tool("a")["inputSchema"],
        "url": url,
        "mcp_tool": "a",
        "tenants": ["acme"],
        "token_env": "KEY",
    }


async def test_what_is_odd_is_made_valid_or_left_out_and_said() -> None:
    async with offering(ODD) as server:
        found = await discover(server.url("/mcp"), "--prefix", "ex_")
    assert found.code == 0
    names = {each["mcp_tool"]: each["name"] for each in found.bindings}
    for each in found.bindings:
        ToolBinding.model_validate(each)
    assert names["read file"] == "ex_read_file"
    assert names["read.file"] == "ex_read_file_2"
    assert names["7zip"] == "ex_7zip"
    assert len(names["x" * 100]) == 64
    assert {"giant", "remote", "listy", "deep", "bare"}.isdisjoint(names)
    assert "\x1b" not in found.err
    for said in (
        "Left out 'giant': its input schema has 100",
        "Left out 'remote': its input_schema has a $ref that leaves the document",
        "Left out 'listy': its input schema isn't that of an object",
        "Left out 'deep': its output_schema is nested more than 100 levels deep",
        "Left out 'twice': the server lists it twice",
        "Left out the tool at place 14",
        "Left out the tool at place 15",
        "Cut the description of 'windy' to 4096 characters",
        "'quiet' has no description",
        "'read.file' is called ex_read_file_2 here",
    ):
        assert said in found.err
    assert len(found.out) < 30_000
    assert found.bindings[-1]["output_schema"] == {"type": "object", "required": ["n"]}


async def test_a_list_without_end_is_read_up_to_a_limit() -> None:
    def play(request: Any) -> Any:
        cursor = str((request.json["params"].get("cursor") or "") + "x")
        found = {"tools": [tool(f"t{len(cursor)}_{n}") for n in range(90)], "nextCursor": cursor}
        body = {"jsonrpc": "2.0", "id": request.json["id"], "result": found}
        return (Send(response(body)),)

    async with McpServer(result("never"), tools_list=play) as server:
        found = await discover(server.url("/mcp"))
    assert found.code == 0
    assert len(found.bindings) == 1000
    assert "the rest isn't read" in found.err


@pytest.mark.parametrize(
    ("arguments", "env", "said"),
    [
        (("not a url",), {}, "URL must not contain spaces"),
        (("http://127.0.0.1:1/mcp",), {}, "The server could not be reached."),
        (("http://127.0.0.1:1/", "--tenant", "a b"), {}, "--tenant must have 1 to 64"),
        (("http://127.0.0.1:1/", "--token-env", "NOT_SET"), {}, "NOT_SET isn't set"),
        (("http://a.example/", "--merge", "nowhere.json"), {}, "nowhere.json can't be read"),
        (("http://a.example/",), {"HTTP_PROXY": "ftp://x"}, "HTTP_PROXY is not the URL"),
    ],
)
async def test_what_makes_no_sense_is_one_clear_line(
    arguments: tuple[str, ...], env: dict[str, str], said: str
) -> None:
    found = await discover(*arguments, **env)
    assert (found.code, found.out) == (1, "")
    assert said in found.err
    assert found.err.count("\n") == 1


async def test_what_is_no_mcp_server_is_said() -> None:
    html = plays(Send(response(b"<html>", content_type="text/html")))
    away = plays(Send(response(b"secret", status="503 Away")))
    async with McpServer(result("never"), server_discover=html, initialize=html) as server:
        found = await discover(server.url("/mcp"))
        assert (found.code, found.out) == (1, "")
        server.answers("initialize", away)
        found = await discover(server.url("/mcp"))
    assert "The status is 503." in found.err
    assert "secret" not in found.err


def host(path: Path, *tools: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"tools": list(tools), "store": "sqlite:///x.db"}, indent=4))
    return path


async def test_merging_adds_what_is_new_and_keeps_the_rest_of_the_file(tmp_path: Path) -> None:
    other = {"name": "echo", "url": "http://127.0.0.1:9/tools/echo"}
    file = host(tmp_path / "brain.json", other)
    file.chmod(0o600)
    async with offering([tool("echo"), tool("add")]) as server:
        asked = await discover(server.url("/mcp"), "--merge", str(file))
        assert asked.code == 1
        assert "Nothing was written" in asked.err
        assert '+            "name": "add",' in asked.out
        assert json.loads(file.read_text())["tools"] == [other]
        done = await discover(server.url("/mcp"), "--merge", str(file), "--yes")
        again = await discover(server.url("/mcp"), "--merge", str(file))
    assert (done.code, again.code, again.out) == (0, 0, "")
    document = json.loads(file.read_text())
    assert document["store"] == "sqlite:///x.db"
    assert [each["name"] for each in document["tools"]] == ["echo", "echo_2", "add"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "as they are now" in again.err


async def test_merging_again_shows_what_has_changed_on_the_server(tmp_path: Path) -> None:
    file = host(tmp_path / "brain.json")
    async with offering([tool("a"), tool("b"), tool("c"), tool("d")]) as server:
        url = server.url("/mcp")
        await discover(url, "--merge", str(file), "--yes")
        document = json.loads(file.read_text())
        document["tools"][0] |= {"name": "mine", "tenants": ["acme"], "timeout_seconds": 5}
        file.write_text(json.dumps(document))
        changed = {"type": "object", "properties": {"n": {"type": "integer"}}}
        now = [
            tool("a", inputSchema=changed, description="Another."),
            tool("b", inputSchema={"type": "object", "$ref": "https://evil.example/"}),
            tool("d"),
        ]
        server.answers("tools_list", pages(now))
        found = await discover(url, "--merge", str(file), "--yes")
    assert "mine: its input_schema has changed on the server." in found.err
    assert "mine: the server describes it otherwise; yours is kept." in found.err
    assert "c: the server has 'c' no more." in found.err
    first, second, third = json.loads(file.read_text())["tools"]
    assert first["input_schema"] == changed
    assert (first["name"], first["tenants"], first["timeout_seconds"]) == ("mine", ["acme"], 5)
    assert first["description"] == "It is a."
    assert (second["mcp_tool"], third["mcp_tool"]) == ("b", "d")


async def test_several_bindings_of_one_tool_are_all_kept_and_all_follow_it(tmp_path: Path) -> None:
    file = host(tmp_path / "brain.json")
    async with offering([tool("a")]) as server:
        url = server.url("/mcp")
        await discover(url, "--merge", str(file), "--yes")
        document = json.loads(file.read_text())
        document["tools"].append(document["tools"][0] | {"name": "again", "tenants": ["acme"]})
        file.write_text(json.dumps(document))
        changed = {"type": "object", "required": ["n"]}
        server.answers("tools_list", pages([tool("a", inputSchema=changed)]))
        await discover(url, "--merge", str(file), "--yes")
    kept = {each["name"]: each["input_schema"] for each in json.loads(file.read_text())["tools"]}
    assert kept == {"a": changed, "again": changed}


async def test_what_cannot_be_seen_is_shown_and_a_number_without_bounds_is_left_out() -> None:
    def listed(request: Any) -> Any:
        hidden = tool("hidden", description="Say hello.\u202e\U000e0041\x9b31m")
        endless = tool("endless", inputSchema={"type": "object", "maximum": 0.125})
        found = {"tools": [hidden, endless]}
        body = json.dumps({"jsonrpc": "2.0", "id": request.json["id"], "result": found})
        return (Send(response(body.replace("0.125", "1e999"))),)

    async with McpServer(result("never"), tools_list=listed) as server:
        found = await discover(server.url("/mcp"))
    assert [each["name"] for each in found.bindings] == ["hidden"]
    assert "\\u202e\\udb40\\udc41\\u009b31m" in found.out
    assert "The description of 'hidden' holds characters that aren't seen." in found.err
    assert "Left out 'endless': its input schema can't be read" in found.err
