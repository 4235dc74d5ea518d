"""Operators at work on the page."""

import asyncio
from collections.abc import Awaitable, Callable

import httpx2
import pytest
from playwright.async_api import Page, expect

from brain_testing.api import Api
from brain_testing.inbox import TOOLS_TOKEN, Ask, InboxService
from brain_testing.plugin import StartBrain
from brain_testing.reading import only, said, text_of

pytestmark = pytest.mark.requirement("LOCAL-02")
OpenPage = Callable[..., Awaitable[Page]]
Operator = Callable[[str], httpx2.AsyncClient]
ASK = '/call request_approval {"action":"Send the report","details":"To 1200 customers."}'

# A page that isn't told of changes, as on a slow line.
DEAF = """window.EventSource = class extends EventSource {
    addEventListener(name, listener) {
        if (name !== "approval") super.addEventListener(name, listener);
    }
}"""


async def answer(page: Page, action: str, value: str, comment: str = "") -> None:
    card = page.get_by_role("article", name=action)
    if comment:
        await card.get_by_role("textbox").fill(comment)
    await card.get_by_role("button", name=value).click()


async def test_a_click_on_yes_lets_the_agent_go_on_and_every_operator_sees_it(
    inbox: InboxService,
    open_page: OpenPage,
    start_brain: StartBrain,
    connect: Callable[..., Api],
) -> None:
    ada, bob = await open_page("ada"), await open_page("bob")
    brain = await start_brain(tools=inbox.tools, env={"BRAIN_TOOLS_KEY": TOOLS_TOKEN})
    api = connect(brain)
    session_id = await api.create("request_approval")
    sent = await api.send(session_id, ASK)
    card = bob.get_by_role("article", name="Send the report")
    await expect(card).to_contain_text("To 1200 customers.")
    await expect(card).to_contain_text(session_id)
    await expect(bob).to_have_title("(1) Approvals")
    await answer(ada, "Send the report", "Yes", "Go ahead.")
    events = await api.until_idle(session_id, after=sent["seq"])

    result = only(events, "tool.result")
    assert (result["is_error"], text_of(result)) == (
        False,
        "Operator answered yes.\nComment: Go ahead.",
    )
    assert "Operator answered yes." in said(events)
    await expect(card).to_be_hidden()
    history = bob.get_by_role("region", name="History")
    await expect(history).to_contain_text("Yes")
    await expect(history).to_contain_text("ada")
    await expect(history).to_contain_text("Go ahead.")
    await expect(bob.get_by_text("All answered.")).to_be_visible()


async def test_an_interrupt_makes_the_request_vanish_from_the_page(
    inbox: InboxService,
    open_page: OpenPage,
    start_brain: StartBrain,
    connect: Callable[..., Api],
) -> None:
    page = await open_page("ada")
    brain = await start_brain(tools=inbox.tools, env={"BRAIN_TOOLS_KEY": TOOLS_TOKEN})
    api = connect(brain)
    session_id = await api.create("request_approval")
    await api.send(session_id, ASK)
    card = page.get_by_role("article", name="Send the report")
    await expect(card).to_be_visible()
    await api.http.post(f"/sessions/{session_id}/interrupt")

    await expect(card).to_be_hidden()
    await expect(page.get_by_role("region", name="History")).to_contain_text("Withdrawn")


async def test_two_operators_who_click_at_once_get_one_decision(
    ask: Ask, open_page: OpenPage
) -> None:
    ada, bob = await open_page("ada"), await open_page("bob")
    asked = await ask("Deploy")
    for page in (ada, bob):
        await expect(page.get_by_role("article", name="Deploy")).to_be_visible()
    clicks = (answer(ada, "Deploy", "Yes"), answer(bob, "Deploy", "No"))
    # The slower of the two may find the button gone already: that is a fine answer, too.
    await asyncio.gather(*(asyncio.wait_for(each, 15) for each in clicks), return_exceptions=True)

    yes = "Operator answered yes." in await asked.result()
    for page in (ada, bob):
        history = page.get_by_role("region", name="History").get_by_role("listitem")
        await expect(history).to_have_count(1)
        await expect(history).to_contain_text("Yes" if yes else "No")
        await expect(history).to_contain_text("ada" if yes else "bob")


async def test_a_click_that_comes_too_late_shows_who_decided(
    ask: Ask, open_page: OpenPage, operator: Operator
) -> None:
    page = await open_page("ada")
    await page.add_init_script(DEAF)
    await page.reload()
    asked = await ask("Deploy")
    await page.reload()
    await expect(page.get_by_role("article", name="Deploy")).to_be_visible()
    await operator("bob").post(f"/approvals/{asked.call_id}", json={"answer": "no"})
    await answer(page, "Deploy", "Yes")

    history = page.get_by_role("region", name="History")
    await expect(history).to_contain_text("bob")
    await expect(history).to_contain_text("No")
    await expect(page.get_by_role("article")).to_have_count(0)


async def test_a_lost_connection_is_shown_and_mended(
    inbox: InboxService, ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await ask("Deploy")
    await expect(page.get_by_role("article")).to_have_count(1)
    await inbox.stop()
    await expect(page.get_by_role("alert").filter(has_text="connection is lost")).to_be_visible()
    await inbox.start()

    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    await expect(page.get_by_role("article")).to_have_count(0)
    await expect(page.get_by_role("region", name="History")).to_contain_text("Withdrawn")


async def test_it_can_be_worked_with_the_keyboard_alone(ask: Ask, open_page: OpenPage) -> None:
    page = await open_page("ada")
    await ask("First")
    second = await ask("Second")
    await expect(page.get_by_role("article")).to_have_count(2)
    for key in ("j", "j", "k", "j", "Tab"):
        await page.keyboard.press(key)
    await page.keyboard.type("just no")
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="No").nth(1)).to_be_focused()
    await page.keyboard.press("Enter")

    assert "Operator answered no.\\nComment: just no" in await second.result()
    await expect(page.get_by_role("article", name="First")).to_be_focused()


async def test_a_screen_reader_is_told_what_comes_and_what_each_button_decides(
    ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await ask("Deploy to production")

    await expect(page.get_by_role("status")).to_have_text("New request: Deploy to production")
    yes = page.get_by_role("button", name="Yes")
    await expect(yes).to_have_accessible_description("Deploy to production")
    await expect(page.get_by_role("textbox")).to_have_accessible_name(
        "Comment, which the agent reads"
    )
    await yes.click()
    await expect(page.get_by_role("status")).to_have_text("ada answered yes: Deploy to production")


async def test_long_details_are_folded_until_they_are_asked_for(
    ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await ask("Read", "\n".join(f"line {number}" for number in range(40)))
    fold = page.get_by_role("button", name="Show all of it (40 lines)")
    folded = await page.locator(".card .details").bounding_box()
    await fold.click()
    whole = await page.locator(".card .details").bounding_box()

    assert folded is not None
    assert whole is not None
    assert folded["height"] < 250 < whole["height"]
    await expect(page.get_by_role("button", name="Show less")).to_have_attribute(
        "aria-expanded", "true"
    )


async def test_a_click_right_after_the_cards_have_moved_decides_nothing(
    ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    first = await ask("First")
    await ask("Second")
    yes = page.get_by_role("article", name="First").get_by_role("button", name="Yes")
    box = await yes.bounding_box()
    assert box is not None
    await page.evaluate(
        # The click comes in the same moment in which the second card has taken the first's place.
        """([x, y]) => new MutationObserver((changes) => {
            if (!changes.some((change) => change.removedNodes.length)) return;
            window.under = document.elementFromPoint(x, y)?.closest("button")?.value ?? "nothing";
        }).observe(document.getElementById("pending"), { childList: true })""",
        [box["x"] + 5, box["y"] + 5],
    )
    await first.interrupt()
    await expect(page.get_by_role("article")).to_have_count(1)

    assert await page.evaluate("window.under") == "nothing"
    await answer(page, "Second", "Yes")  # and a moment later it counts
    await expect(page.get_by_text("All answered.")).to_be_visible()
