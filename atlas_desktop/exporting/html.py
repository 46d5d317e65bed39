"""HTML export: one self-contained page without scripts, pictures or fetched addresses."""

import base64
import hashlib
import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any

from atlas_desktop.exporting.document import (
    BaseWriter,
    MemoryRecord,
    attachments,
    citations,
    marks,
    memory_line,
    moment,
    remarks,
    speaker_of,
    title_of,
    told_branch,
)
from atlas_desktop.services.cleaning import clean, clean_line
from memory.transfer import TravellingMessage, TravellingSession
from models.messages import Role

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

LONGEST_MARKDOWN = 200_000
"""Characters; a longer message is shown as typed, because parsing its Markdown may take very long."""

_SAFE_LINK = re.compile(r"(?:https?://|mailto:)[^\s]+", re.IGNORECASE)

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --quiet: #59636e; --paper: #ffffff; --shade: #f3f4f6;
  --line: #d1d9e0; --accent: #0b6bcb; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8eb; --quiet: #9aa4af; --paper: #15181c;
  --shade: #1f242a; --line: #39424c; --accent: #6cb2f7; } }
* { box-sizing: border-box; }
body { display: flex; flex-direction: column; margin: 0 auto; padding: 2rem 1rem 4rem; max-width: 50rem;
  font: 1rem/1.6 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
article { border-top: 1px solid var(--line); padding-top: 1.5rem; margin-top: 2rem; }
article:first-of-type { border: 0; margin-top: 0; }
.about, .when, .sources, footer { color: var(--quiet); font-size: .875rem; }
.about { margin: 0 0 1.5rem; }
nav { order: -1; margin-bottom: 2rem; }
section { margin: 0 0 1rem; padding: .25rem 1rem; border-left: 3px solid var(--line); }
section.user { background: var(--shade); border-color: var(--accent); border-radius: 0 .5rem .5rem 0; }
section > header { display: flex; flex-wrap: wrap; gap: .75rem; align-items: baseline; padding-top: .5rem; }
section h2 { font-size: 1rem; margin: 0; }
.text h1, .text h2, .text h3, .text h4, .text h5, .text h6 { font-size: 1.05rem; margin: 1.2rem 0 .4rem; }
pre { overflow-x: auto; padding: .75rem; background: var(--shade); border: 1px solid var(--line);
  border-radius: .4rem; line-height: 1.4; }
section.user pre { background: var(--paper); }
code { font: .9em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
pre.plain { white-space: pre-wrap; font: inherit; border: 0; padding: 0; background: none; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; }
blockquote { margin: 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--quiet); }
a { color: var(--accent); }
@media print { body { max-width: none; } section { break-inside: avoid-page; } }
"""


def _policy() -> str:
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


class HtmlWriter(BaseWriter):
    """Writes a page with one article per session; the table of contents is written last and shown first."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._titles: list[str] = []

    def begin(self) -> None:
        self.write(
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">\n'
            '<meta name="referrer" content="no-referrer">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        )
        if self.about.sessions != 1:
            self._open_body("Conversations")

    def _open_body(self, title: str) -> None:
        self.write(f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n")

    def session(self, session: TravellingSession) -> None:
        title = title_of(session)
        if self.about.sessions == 1:
            self._open_body(title)
        self._titles.append(title)
        shown = told_branch(session)
        parts = [
            f'<article id="s{len(self._titles)}">\n<h1>{escape(title)}</h1>\n',
            f'<p class="about">{escape(_about(session))}</p>\n',
        ]
        if left := remarks(session):
            parts.append(f'<p class="about">{escape(left)}</p>\n')
        parts.extend(map(_message, shown))
        parts.append("</article>\n")
        self.write("".join(parts))

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        self._titles.append("Memories")
        parts = [f'<article id="s{len(self._titles)}">\n<h1>Memories</h1>\n']
        parts.extend(
            f'<section class="memory"><header><span class="when">{escape(memory_line(memory))}</span>'
            f"</header>\n"
            f'<div class="text">{_plain(memory.text)}</div></section>\n'
            for memory in memories
        )
        parts.append("</article>\n")
        self.write("".join(parts))

    def end(self) -> None:
        if len(self._titles) > 1:
            entries = "".join(
                f'<li><a href="#s{number}">{escape(title)}</a></li>\n'
                for number, title in enumerate(self._titles, start=1)
            )
            self.write(f'<nav aria-label="Contents">\n<h1>Contents</h1>\n<ol>\n{entries}</ol>\n</nav>\n')
        self.write(f"<footer>Written {moment(self.about.written_at)}</footer>\n</body>\n</html>\n")


def _about(session: TravellingSession) -> str:
    parts = [f"Begun {moment(session.created_at)}"]
    if session.project:
        parts.append(clean_line(session.project))
    parts.extend("#" + clean_line(tag) for tag in session.tags)
    parts.extend(f"attached: {name}" for name in attachments(session))
    return " · ".join(parts)


def _message(message: TravellingMessage) -> str:
    when = f'<time datetime="{message.created_at.isoformat()}">{moment(message.created_at)}</time>'
    said = "".join(f" · {mark}" for mark in marks(message))
    return (
        f'<section class="{message.role.value}"><header><h2>{escape(speaker_of(message))}</h2>'
        f'<span class="when">{when}{said}</span></header>\n'
        f'<div class="text">{_text(message)}</div>{_sources(message)}</section>\n'
    )


def _sources(message: TravellingMessage) -> str:
    listed = "".join(f"<li>{escape(line)}</li>" for line in citations(message))
    return f'<div class="sources">Sources:<ul>{listed}</ul></div>' if listed else ""


def _text(message: TravellingMessage) -> str:
    text = clean(message.content)
    if len(text) > LONGEST_MARKDOWN:
        return _plain(text)
    # Keep line breaks as the user typed them.
    return str(_parser(breaks=message.role is Role.USER).render(text))


def _plain(text: str) -> str:
    return f'<pre class="plain">{escape(clean(text))}</pre>'


@cache
def _parser(*, breaks: bool) -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "breaks": breaks, "xhtmlOut": False}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: _SAFE_LINK.fullmatch(url) is not None  # type: ignore[method-assign]
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    return parser


def _image(
    _self: "RendererHTML",
    tokens: "Sequence[Token]",
    at: int,
    _options: "OptionsDict",
    _env: MutableMapping[str, Any],
) -> str:
    """Shows a picture's name and address as text; it is never fetched."""
    return (
        f"<span>[picture: {escape(tokens[at].content)}] {escape(str(tokens[at].attrGet('src') or ''))}</span>"
    )


def _link(
    self: "RendererHTML",
    tokens: "Sequence[Token]",
    at: int,
    options: "OptionsDict",
    env: MutableMapping[str, Any],
) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, at, options, env)
