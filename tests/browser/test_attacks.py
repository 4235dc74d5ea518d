"""What an agent writes and what other pages do must not decide anything on the page."""

from collections.abc import Awaitable, Callable

import httpx2
import pytest
from playwright.async_api import Error, Page, expect

from brain_testing.inbox import Ask, InboxService

pytestmark = pytest.mark.requirement("LOCAL-02")
OpenPage = Callable[..., Awaitable[Page]]
Operator = Callable[[str], httpx2.AsyncClient]
HOSTILE = (
    "<img src=x onerror=\"document.title='pwned'\">",
    "<script>document.title='pwned'</script>",
    "<svg/onload=\"document.title='pwned'\">",
    "</template></article><iframe srcdoc=\"<script>parent.document.title='pwned'</script>\">",
    "javascript:document.title='pwned'",
    "{{constructor.constructor('return 1')()}} ${1+1} &lt;b&gt;",
)


@pytest.mark.parametrize("text", HOSTILE)
async def test_nothing_that_an_agent_writes_runs_or_becomes_html(
    ask: Ask, open_page: OpenPage, text: str
) -> None:
    page = await open_page("ada")
    await ask(text, text, tenant=text, session=text, call_id=text)
    card = page.get_by_role("article")
    await expect(card.locator(".action")).to_have_text(text)
    await expect(card.locator(".details")).to_have_text(text)
    await expect(card.locator(".tenant")).to_have_text(text)
    await card.get_by_role("textbox").fill(text)
    await card.get_by_role("button", name="Yes").click()
    past = page.get_by_role("region", name="History").get_by_role("listitem")
    await expect(past.locator(".said")).to_have_text(text)

    assert await page.locator("#inbox img, #inbox svg, iframe, script").count() == 2  # our own
    assert await page.title() == "Approvals"


async def test_the_browser_itself_refuses_html_made_of_text(ask: Ask, open_page: OpenPage) -> None:
    page = await open_page(strict=False)
    with pytest.raises(Error, match="TrustedHTML"):
        await page.evaluate("document.body.innerHTML = '<b>hello</b>'")


async def test_characters_that_can_not_be_seen_are_spelled_out(
    ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await ask("Delete \u202eelif.txt\u202c", "pay\u200bpal \x1b[31m\u3164\U000e0041 tab\there")
    card = page.get_by_role("article")

    await expect(card.locator(".action")).to_have_text("Delete U+202Eelif.txtU+202C")
    await expect(card.locator(".details")).to_have_text(
        "payU+200Bpal U+001B[31mU+3164U+E0041 tab\there"
    )


async def test_json_is_laid_out_without_hiding_a_key_or_rounding_a_number(
    ask: Ask, open_page: OpenPage
) -> None:
    page = await open_page("ada")
    await ask("Pay", '{"cents":1,"to":{},"list":[ ],"cents":12345678901234567890,"a":"{,\\"}"}')

    shown = await page.locator(".card .details").inner_text()
    assert shown.split("\n") == [
        "{",
        '  "cents": 1,',
        '  "to": {},',
        '  "list": [],',
        '  "cents": 12345678901234567890,',
        '  "a": "{,\\"}"',
        "}",
    ]


FETCH = """([url, body]) => fetch(url, {
    method: "POST", mode: "no-cors", credentials: "include", body
}).then(() => null)"""
FORM = """([url, body, kind]) => {
    const form = document.createElement("form");
    Object.assign(form, { method: "post", action: url, enctype: kind });
    const field = document.createElement("input");
    Object.assign(field, { name: body.replace("}", ',"comment":"'), value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
}"""
ATTACKS = {
    "a fetch": (FETCH, ""),
    "a form of text": (FORM, "text/plain"),
    "a form": (FORM, "application/x-www-form-urlencoded"),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_page_of_another_origin_can_not_answer_for_a_signed_in_operator(
    inbox: InboxService,
    ask: Ask,
    open_page: OpenPage,
    operator: Operator,
    elsewhere: str,
    attack: str,
) -> None:
    page = await open_page("ada")
    asked = await ask("Deploy")
    target = f"{inbox.url}/approvals/{asked.call_id}"
    await page.goto(elsewhere)  # the same site: the browser sends the cookie along
    script, kind = ATTACKS[attack]
    async with page.expect_response(target) as answered:
        await page.evaluate(script, [target, '{"answer":"yes"}', kind])
    response = await answered.value
    headers = await response.request.all_headers()

    if script is FORM:
        assert "approvals=" in headers["cookie"], "the attack is a real one"
    assert response.status == 403
    found = (await operator("bob").get("/approvals")).json()["approvals"]
    assert [each["status"] for each in found] == ["pending"]


async def test_another_page_can_not_frame_it(
    inbox: InboxService, open_page: OpenPage, elsewhere: str
) -> None:
    page = await open_page("ada", strict=False)
    await page.goto(elsewhere)
    async with page.expect_console_message(lambda each: "frame-ancestors" in each.text):
        await page.evaluate(
            """(url) => document.body.append(
                Object.assign(document.createElement("iframe"), { src: url }))""",
            inbox.url,
        )
