"""The pictures of the docs, made of the real page. `BRAIN_SCREENSHOTS=docs/images` keeps them."""

import os
from pathlib import Path
from typing import Any

import pytest

from brain_testing.inbox import Ask, InboxService

DETAILS = """Move the customers table to the new schema.

1. Lock writes for about 40 seconds.
2. Copy 1,204,331 rows, then switch the view over.
3. Keep the old table as customers_old for a week.

Rollback: switch the view back; nothing is deleted."""
PAYMENT = (
    '{"to":"Northwind Traders","iban":"DE02 1203 0000 0000 2020 51","amount":"1840.00",'
    '"currency":"EUR","reason":"Invoice 2026-1187"}'
)
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1120, "height": 1250}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_picture_of_the_page(
    size: str, scheme: str, inbox: InboxService, ask: Ask, open_page: Any, tmp_path: Path
) -> None:
    await inbox.clock.advance(9 * 3600 + 34 * 60)
    options = {**SIZES[size], "color_scheme": scheme, "device_scale_factor": 2, "locale": "en-GB"}
    page = await open_page("ada", timezone_id="Europe/Berlin", **options)
    await ask("Send the weekly report to all 1,200 customers", "", tenant="acme")
    await ask("Delete the branch release/2024-11", "It is merged, and 400 days old.")
    for answer, comment in (
        ("Yes", "Go ahead, the list is current."),
        ("No", "Keep it for audits."),
    ):
        card = page.get_by_role("article").first
        await card.get_by_role("textbox").fill(comment)
        await card.get_by_role("button", name=answer).click()
        await page.get_by_text(comment).wait_for()
    await ask("Run the migration of the customers table in production", DETAILS, tenant="acme")
    await inbox.clock.advance(7 * 60)
    await ask("Pay an invoice of 1,840.00 EUR", PAYMENT, tenant="globex", expires_in_seconds=900)
    await inbox.clock.advance(150)
    await page.get_by_role("article").nth(1).wait_for()
    await page.reload()  # the page has the server's time from its last word
    await page.get_by_role("article").nth(1).wait_for()

    kept = os.environ.get("BRAIN_SCREENSHOTS") if scheme == "light" else None
    await page.screenshot(path=Path(kept or tmp_path) / f"approvals-{size}.png")
    fits: bool = await page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
    assert fits
