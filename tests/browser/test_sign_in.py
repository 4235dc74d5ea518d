"""Signing in and out on the page."""

from collections.abc import Awaitable, Callable

import pytest
from playwright.async_api import Page, expect

from brain_testing.inbox import Ask, InboxService

pytestmark = pytest.mark.requirement("LOCAL-02")
OpenPage = Callable[..., Awaitable[Page]]


async def test_a_wrong_key_is_refused_and_shows_nothing(ask: Ask, open_page: OpenPage) -> None:
    await ask("Deploy the secret project")
    page = await open_page()
    await page.get_by_label("Your operator's key").fill("not a key of anyone")
    await page.get_by_role("button", name="Sign in").click()

    await expect(page.get_by_role("alert")).to_have_text("No operator has this key.")
    assert "secret project" not in await page.content()


async def test_the_cookie_is_out_of_reach_of_scripts_and_is_not_the_key(
    inbox: InboxService, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    (cookie,) = await page.context.cookies()

    assert cookie.get("httpOnly") is True
    assert cookie.get("sameSite") == "Strict"
    assert inbox.keys["ada"] not in cookie.get("value", "")
    assert await page.evaluate("document.cookie") == ""
    stored = await page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    assert stored == "[{},{}]"


async def test_signing_out_ends_it_in_every_tab(ask: Ask, open_page: OpenPage) -> None:
    page = await open_page("ada")
    await ask("Deploy")
    await expect(page.get_by_role("article")).to_be_visible()
    other = await page.context.new_page()
    await other.goto("/")
    await expect(other.get_by_role("article")).to_be_visible()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Your operator's key")).to_be_focused()
    await other.get_by_role("button", name="Yes").click()

    await expect(other.get_by_role("heading", name="Deploy")).to_have_count(0)
    await expect(other.get_by_label("Your operator's key")).to_be_visible()
    assert await page.context.cookies() == []


async def test_a_restart_of_the_service_signs_nobody_out(
    inbox: InboxService, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await inbox.restart()
    await page.reload()

    await expect(page.get_by_text("Live", exact=True)).to_be_visible()


async def test_an_operator_whose_key_is_gone_is_signed_out(
    inbox: InboxService, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    inbox.keys["ada"] = "another-key-of-ada-lovelace"
    await inbox.restart()

    await expect(page.get_by_label("Your operator's key")).to_be_visible()


async def test_it_loads_nothing_from_anywhere_else(
    inbox: InboxService, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    await page.reload()
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()

    assert asked
    assert [url for url in asked if not url.startswith(inbox.url + "/")] == []
