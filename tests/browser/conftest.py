"""The operators' page in a real Chromium, on a service in the test's own process.

`make test-browser` runs these, and installs Chromium where it can. Without one they fail, with a
line that says so: a page that nobody has looked at is not tested.
"""

import os
import shutil
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web
from playwright.async_api import Browser, Page, async_playwright, expect

from brain_testing.inbox import InboxService

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync"
)
OpenPage = Callable[..., Awaitable[Page]]
expect.set_options(timeout=20_000)  # a machine that does much else is slow, and nothing is wrong


def chromium() -> str:
    """The machine's Chromium."""
    names = ("chromium", "chromium-browser", "google-chrome")
    found = os.environ.get("BRAIN_TEST_CHROMIUM") or next(
        filter(None, map(shutil.which, names)), ""
    )
    assert found, "These tests need Chromium: `make test-browser` installs it where it can."
    return found


@pytest.fixture
async def browser() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=chromium(), args=FLAGS.split())
        yield opened
        await opened.close()


@pytest.fixture
async def elsewhere() -> AsyncGenerator[str]:
    """Another server on this host: the same site, with another origin. Its page is empty."""

    async def empty(_request: web.Request) -> web.Response:
        return web.Response(
            text="<!doctype html><title>Elsewhere</title>", content_type="text/html"
        )

    app = web.Application()
    app.router.add_get("/", empty)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await runner.cleanup()


@pytest.fixture
async def open_page(browser: Browser, inbox: InboxService) -> AsyncGenerator[OpenPage]:
    """Opens the page in a browser of its own; with a name, signed in.

    An error of its scripts fails the test, and so does, if `strict`, a violation of its policy.
    """
    wrong: list[str] = []

    def note(said: str) -> None:
        if "Content Security Policy" in said or "Trusted" in said:
            wrong.append(said)

    async def make(name: str | None = None, *, strict: bool = True, **options: Any) -> Page:
        context = await browser.new_context(base_url=inbox.url, **options)
        context.set_default_timeout(20_000)
        page = await context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        if strict:
            page.on("console", lambda said: note(said.text))
        await page.goto("/")
        if name is not None:
            await page.get_by_label("Your operator's key").fill(inbox.keys[name])
            await page.get_by_role("button", name="Sign in").click()
            await page.get_by_text("Live", exact=True).wait_for()
        return page

    yield make
    assert wrong == []
