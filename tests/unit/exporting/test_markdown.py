"""Markdown, read by a parser that knows nothing of us."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from atlas_desktop.exporting.markdown import contained, escaped
from tests.unit.exporting.talks import MEMORY, TEXTS, said, written

_PIECES = (
    "<b>", "</b>", "<img src=http://x>", "<!-- ", "-->", "<?x?>", "<!X>", "![x](http://x)", "![a]", "[a]: http://x",
    "`", "``", "```", "~~~", "> ", "- ", "1. ", "    ", "\t", "\n", "\n\n", "\\", "a", " ", "<x.org>", "<http://x>",
)  # fmt: skip
PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")


def body(*texts: str, title: str = "A trip") -> list[Token]:
    text = written("md", said(*texts, title=title)).decode()
    assert text.startswith("---\n")
    return PARSER.parse(text.split("\n---\n", 1)[1])


def headings(tokens: list[Token], *levels: str) -> list[str]:
    """Of the document itself, not of what is in a list or a quotation."""
    return [
        str(tokens[at + 1].content)
        for at, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in levels
    ]


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=4), TEXTS)
@example(["1. x\n   ```\n# no\n   ```"], "a\n---")
@example(["<!--\n\nx", "-->"], "*a* #")
@example(["1. x\n   ```\n# a\n</body>"], "a")
def test_nothing_that_was_said_passes_for_the_document(texts: list[str], title: str) -> None:
    tokens = body(*texts, title=title)
    roles = [heading.split(" · ")[0] for heading in headings(tokens, "h1", "h2")]
    assert roles[1:] == ["You" if at % 2 == 0 else "Assistant" for at in range(len(texts))]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text("ab`~#<\t -=\n", max_size=30), min_size=1, max_size=3))
def test_code_blocks_are_kept_to_the_letter(codes: list[str]) -> None:
    longest = "`" * (max((len(run) for code in codes for run in code.split("\n")), default=0) + 3)
    text = "\n\n".join(f"Look:\n{longest}py\n{code}\n{longest}" for code in codes)
    found = [token.content for token in body(text) if token.type == "fence"]
    assert found == [f"{code}\n" for code in codes]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain\n- list\n> quote", "plain\n- list\n> quote"),
        ("# One\n#two", "### One\n#two"),
        ("```\n# code\n```", "```\n# code\n```"),
        ("```\nopen", "```\nopen\n```"),
        ("<https://x.org> stays", "<https://x.org> stays"),
        ("<div>", "\\<div>"),
        ("> <img src=x onerror=alert(1)>", "> \\<img src=x onerror=alert(1)>"),
        ("- 1. <script>x</script>", "- 1. \\<script>x\\</script>"),
        ("so <b>this</b>, 1 < 2 and a<3", "so \\<b>this\\</b>, 1 < 2 and a<3"),
        ("![x](http://tracker/x.png) [y](http://z)", "!\\[x](http://tracker/x.png) [y](http://z)"),
        ("take `<div>` and ``![x](`y`)``", "take `<div>` and ``![x](`y`)``"),
        ("```html\n<img src=x>\n```", "```html\n<img src=x>\n```"),
        ("a\n\n    <div>code</div>", "a\n\n    <div>code</div>"),
        ("\\<b> and \\\\<b>", "\\<b> and \\\\\\<b>"),
        ("a\n***\n- b\n---", "a\n***\n- b\n---"),
        ("1. x\n   ```\n# no\n   ```", "````\n1. x\n   ```\n# no\n   ```\n````"),
    ],
)
def test_only_what_reaches_out_is_changed(text: str, expected: str) -> None:
    assert contained(text) == expected


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
@example("`<b>")
@example("1. `\n\n   <b>")
@example("[a]: http://x\n\n![a]")
def test_a_viewer_runs_and_fetches_nothing(text: str) -> None:
    tokens = PARSER.parse(contained(text))
    inner = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in (*tokens, *inner)}.isdisjoint({"html_block", "html_inline", "image"})


@given(
    st.text(
        st.characters(codec="utf-8", exclude_categories=["Cc"], exclude_characters="\u2028\u2029"),
        max_size=40,
    )
)
def test_a_title_says_what_it_says(title: str) -> None:
    line = " ".join(title.split())
    inline = PARSER.parseInline(escaped(line))[0].children or []
    assert "".join(token.content for token in inline) == line
    assert {token.type for token in inline} <= {"text", "text_special"}


def test_the_front_matter_is_yaml_of_quoted_texts() -> None:
    session = said("a", title='T: "x"\n---\n# y', tags=("#a", "b: c"), project="- p", system_prompt="x\ny")
    lines = written("md", session).decode().split("\n---\n")[0].split("\n")[1:]
    fields = dict(line.split(": ", 1) for line in lines)
    assert json.loads(fields["title"]) == 'T: "x" --- # y'
    assert json.loads(fields["tags"]) == ["#a", "b: c"]
    assert json.loads(fields["project"]) == "- p"
    assert json.loads(fields["system_prompt"]) == "x\ny"
    assert fields["messages"] == "1"


def test_several_sessions_and_memories_stand_one_after_another() -> None:
    tokens = PARSER.parse(
        written("md", said("a", title="One"), said("b", title="Two"), memories=[MEMORY])
        .decode()
        .split("\n---\n")[1]
    )
    assert headings(tokens, "h1") == ["One", "Two", "Memories"]
    assert len(headings(tokens, "h2")) == 3
