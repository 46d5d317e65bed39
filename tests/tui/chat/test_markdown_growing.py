"""A reply looks the same while it grows as when it has come, and is painted where it changes."""

import re

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from atlas_desktop.tui import appearance
from atlas_desktop.tui.chat.markdown import SPARE_LINES, CopyCode, Growing, SafeMarkdown
from atlas_desktop.tui.chat.message import MessageBlock
from memory.entities import Message
from models.messages import Role
from tests.tui.desk import NOW

LONG = "that goes on for so long that it has to be wrapped at the right edge of the picture, surely"
INLINE = "One *two* **three** `four` ~~five~~ [a link](http://x.y/z) <b>html</b> &amp;"
WIDE = "日本語のテキストは幅が広いので折り返しが必要です。" * 2
TWELVE = "".join(f"{i}. item {i} with *words*\n" for i in range(1, 13))
SAMPLES = {
    "prose": f"{INLINE} {LONG}.\n\nA second\nsoft break  \nhard break\n",
    "headings": "# 1\n\ntext\n\n## 2\ntext `c`\n\n### 3\n\n#### 4\n\n##### 5\ntext\n###### 6\nend",
    "heading first": "#### Four\n\ntext",
    "bullets": f"In:\n\n- a **b** {LONG}\n- b\n  - c {LONG}\n    - third\n- c\n\n  more of c\n- d\n\nafter",
    "numbers": f"{TWELVE}\nafter\n\n3. starts at three\n4. four\n   - sub\n   1. sub ordered\n",
    "loose": "1. one\n\n2. two\n\n   ```python\n   x = 1\n   ```\n\n3. three\n",
    "code": f"It:\n\n```python\ndef f(x: int):\n\treturn x  # {LONG}\n\n    y\n```\n\nend\n\n    indented\n",
    "quotation": f"> quoted *words* {LONG}\n>\n> second\n> - a\n> - b\n>\n> > nested\n\nafter",
    "rules": "a\n\n---\n\nb\n\n***\n",
    "wide": f"{WIDE}\n\n- 日本語\n- 🎉 emoji\n",
    "underlined": "Title\n=====\n\nSub\n---\n\n- a\n- b\n---\nend",
    "mixed": "- a\n- b\n* c\n* d\n\n1) x\n2) y\n",
    "in lists": "- # head in list\n- b\n\n  > quote in list\n- \n- d",
    "table": f"Costs:\n\n| What | *How* much |\n|---|---:|\n| **Tent** | 180 |\n| {LONG} | `x` |\n\nend",
    "table in a list": "- a\n\n  | b | c |\n  |---|---|\n  | d | e |\n- f",
    "empty code": "```\n```\n\nx",
}
Cell = tuple[str, str, str, bool, bool, bool]


class Page(App[None]):
    """One reply on a page of its own: finished, or growing by `step` characters at a time."""

    def __init__(self, text: str, step: int) -> None:
        super().__init__()
        self.register_theme(appearance.DARK)
        self.theme = appearance.DARK.name
        self._text, self._step = text, step

    def compose(self) -> ComposeResult:
        said = "" if self._step else self._text
        message = Message("m", "s", None, Role.ASSISTANT, "", said, NOW)
        yield MessageBlock(message, NOW)

    async def picture(self) -> list[list[Cell]]:
        async with self.run_test(size=(60, 60)) as pilot:
            if self._step:
                block = self.query_one(MessageBlock)
                await block.query(SafeMarkdown).remove()
                growing = Growing()
                await block.mount(growing)
                for at in range(0, len(self._text), self._step):
                    growing.grow(self._text[at : at + self._step])
                    await pilot.pause(0)
            await pilot.pause()
            strips = self.screen._compositor.render_strips()
        return [[cell for segment in strip for cell in _cells(*segment[:2])] for strip in strips]


def _cells(text: str, style: object) -> list[Cell]:
    facts = {name: getattr(style, name, None) for name in ("color", "bgcolor", "bold", "italic", "underline")}
    return [
        (
            letter,
            # Nothing is seen of these where there is no letter.
            str(facts["color"]) if letter.strip() else "",
            str(facts["bgcolor"]),
            bool(facts["bold"]) and bool(letter.strip()),
            bool(facts["italic"]) and bool(letter.strip()),
            bool(facts["underline"]),
        )
        for letter in text
    ]


@pytest.mark.parametrize("name", SAMPLES)
async def test_a_growing_reply_looks_like_a_finished_one(name: str) -> None:
    text = SAMPLES[name]
    finished = await Page(text, 0).picture()
    assert await Page(text, 7).picture() == finished
    assert await Page(text, len(text)).picture() == finished


async def test_the_screen_is_laid_out_only_when_the_lines_to_spare_are_full() -> None:
    page = Page("", 1)
    async with page.run_test(size=(60, 60)) as pilot:
        growing = Growing()
        await page.query_one(MessageBlock).mount(growing)
        await pilot.pause()
        heights = []
        for number in range(30):
            growing.grow(f"- item {number}\n")
            await pilot.pause(0)
            heights.append(growing.size.height)
    assert heights[-1] >= 31
    assert len(set(heights)) <= 30 // SPARE_LINES + 1


async def test_only_lines_that_changed_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page("", 1)
    painted: list[Region] = []
    async with page.run_test(size=(60, 60)) as pilot:
        growing = Growing()
        await page.query_one(MessageBlock).mount(growing)
        await pilot.pause()
        growing.grow("First.\n\nSecond.\n\nThird")
        await pilot.pause()
        monkeypatch.setattr(growing, "refresh", lambda *regions, **_: painted.extend(regions))
        growing.grow(" goes on")
    assert [(region.y, region.height) for region in painted] == [(4, 1)]


async def test_nothing_that_steers_a_terminal_is_painted() -> None:
    sent = "a\x1b[31mb `\x1b]0;t\x07` &#27;[2J\n\n"
    sent += "| a\x9b2J |\n|---|\n| &#x9b;1m |\n\n```\x1b[0m\n\x1b[1mx\n```\n"
    letters = "".join(cell[0] for line in await Page(sent, 3).picture() for cell in line)
    assert "x" in letters
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", letters)


async def test_each_block_of_a_growing_reply_is_copied_where_its_head_is_clicked() -> None:
    copied: list[str] = []

    class Watched(Page):
        def on_copy_code(self, event: CopyCode) -> None:
            copied.append(event.code)

    page = Watched("", 1)
    async with page.run_test(size=(60, 60)) as pilot:
        growing = Growing()
        await page.query_one(MessageBlock).mount(growing)
        await pilot.pause()
        growing.grow("```\nfirst\n```\n\n- in a list:\n\n  ```sh\n  second\n")
        await pilot.pause()
        end = growing.content_size.width
        for line in (0, 1, 4):
            await pilot.click(growing, offset=(end - 1, line))
    assert copied == ["first", "second"]
