"""A page that can do nothing, read by Python's own parser."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.exporting.talks import MEMORY, TEXTS, said, written

_NEVER = {"script", "img", "iframe", "object", "embed", "form", "base", "svg", "video", "audio", "input"}
_EMPTY = {"meta", "br", "hr"}


class Page(HTMLParser):
    """Collects what a page is made of; fails where it is not well nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@settings(max_examples=80, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=3), TEXTS)
def test_nothing_that_was_said_is_more_than_text(texts: list[str], title: str) -> None:
    page = Page(written("html", said(*texts, title=title)).decode())
    assert not _NEVER & set(page.tags)
    assert page.tags.count("section") == len(texts)
    assert page.tags.count("h2") >= len(texts)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("style", "src")]
    for name, value in page.attributes:
        assert name != "href" or str(value).startswith(("http://", "https://", "mailto:", "#"))


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))", "[x](JaVaScRiPt:alert(1))", "[x](data:text/html,x)", "[x](vbscript:x)",
        "[x](file:///etc/passwd)", "<javascript:alert(1)>", "![x](http://tracker/x.png)", "[x]( //evil.org)",
        '<img src=x onerror="alert(1)">', "<script>alert(1)</script>", '[x](http://a"onclick="b)',
        '```"><script>\nx\n```', "&lt;script&gt;",
    ],
)  # fmt: skip
def test_what_would_act_is_shown_as_text(text: str) -> None:
    page = Page(written("html", said(text)).decode())
    assert not _NEVER & set(page.tags)
    links = [value for name, value in page.attributes if name == "href"]
    assert all(str(link).startswith("http") for link in links)
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_policy_allows_the_page_its_own_style_and_nothing_else() -> None:
    text = written("html", said("a")).decode()
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "prefers-color-scheme: dark" in style
    assert "http" not in style


def test_code_and_what_was_typed_in_lines_are_kept() -> None:
    text = written(
        "html", said("one\ntwo", "```py\nif a < b:\n\tc\n```", title="<T>"), said("x"), memories=[MEMORY]
    )
    page = Page(text.decode())
    assert "if a < b:\n\tc\n" in page.words
    assert page.tags.count("br") == 1
    assert page.words.count("<T>") == 2
    assert ("href", "#s3") in page.attributes
    assert "Likes *tea*\n# and rain" in page.words


def test_a_very_long_message_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atlas_desktop.exporting.html.LONGEST_MARKDOWN", 10)
    page = Page(written("html", said("*" * 20)).decode())
    assert "*" * 20 in page.words
