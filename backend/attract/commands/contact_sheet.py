"""A contact sheet: pictures of a play in rows, as one."""

import base64
from collections.abc import Sequence
from typing import Final

from playwright.async_api import Page

SHEET_PICTURES: Final = 12
SHEET_COLUMNS: Final = 4
SHEET_WIDTH: Final = 1280
QUALITY: Final = 60
"""JPEG quality of the pictures, in percent."""
SHEET_STYLE: Final = f"""\
body {{ display: grid; grid-template-columns: repeat({SHEET_COLUMNS}, 1fr); gap: 8px; margin: 8px; }}
figure {{ margin: 0; border: 4px solid #ddd; font: 14px sans-serif; text-align: center; }}
figure.it {{ border-color: #d00; }}
img {{ display: block; width: 100%; }}
"""


def spread_over(last: int) -> list[int]:
    """At most `SHEET_PICTURES` numbers from 0 to `last`, evenly."""
    return sorted({round(place * last / (SHEET_PICTURES - 1)) for place in range(SHEET_PICTURES)})


async def contact_sheet(tab: Page, cells: Sequence[tuple[bytes, str, bool]]) -> bytes:
    """A PNG of pictures in rows; what was in the tab is gone.

    Args:
        cells: JPEG, caption without markup, and whether it is outlined.
    """
    figures = "".join(
        f"<figure{' class=it' if is_outlined else ''}>"
        f'<img src="data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}">'
        f"<figcaption>{caption}</figcaption></figure>"
        for jpeg, caption, is_outlined in cells
    )
    # The game's page is gone: what it does cannot reach this one.
    await tab.goto("about:blank")
    await tab.set_viewport_size({"width": SHEET_WIDTH, "height": 100})
    await tab.set_content(f"<style>{SHEET_STYLE}</style>{figures}")
    return await tab.screenshot(type="png", full_page=True)
