"""The content of Claude's messages as readable text: blocks, artifacts, attachments."""

import re
from pathlib import PurePosixPath
from typing import Any

from atlas_desktop.services.importing.values import mapping, readable_json, sequence, text
from atlas_desktop.services.importing.wording import (
    Element,
    aside,
    attached,
    elements,
    fenced,
    joined,
    quoted,
    replaced,
)

_THINKING = re.compile(r"<antThinking>.*?(?:</antThinking>|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(r'\b(\w+)="([^"]*)"')
_PLAIN_KINDS = ("text/markdown", "text/plain", "")
_PLAIN_ENDINGS = ("md", "txt", "")
_WRITTEN = frozenset({"file_text", "old_str", "new_str"})
"""What is given to the tools that write and change files."""
_LANGUAGES = {
    "text/html": "html",
    "image/svg+xml": "svg",
    "application/vnd.ant.mermaid": "mermaid",
    "application/vnd.ant.react": "jsx",
}


def words_of(message: dict[str, Any]) -> str:
    """Everything that a message says; what was attached as text stands in it, files are named."""
    blocks = [mapping(one) for one in sequence(message.get("content"))]
    words = joined(map(_block, blocks)) or _with_artifacts(text(message.get("text")))
    return joined((words, *_attachments(message)))


def _attachments(message: dict[str, Any]) -> list[str]:
    shown = []
    for one in sequence(message.get("attachments")):
        fields = mapping(one)
        name = text(fields.get("file_name"))
        if held := fenced(text(fields.get("extracted_content"))):
            shown.append(joined((aside("Attached", name), held)))
        elif name:
            shown.append(attached([name]))
    files = [mapping(one) for key in ("files", "files_v2") for one in sequence(message.get(key))]
    names = dict.fromkeys(text(one.get("file_name")) or text(one.get("name")) for one in files)
    return [*shown, attached(names)]


def _block(block: dict[str, Any]) -> str:
    kind = text(block.get("type"))
    if kind == "thinking":
        return quoted(text(block.get("thinking")))
    if kind == "tool_use":
        return _asked(block)
    if kind == "tool_result":
        return _result(block)
    if kind == "image":
        return aside("Image", text(block.get("file_name")))
    return _with_artifacts(text(block.get("text")))


def _asked(block: dict[str, Any]) -> str:
    """An artifact, and a file that was written, is shown as what it is; what was asked of any other tool as
    its JSON."""
    given = mapping(block.get("input"))
    name = text(block.get("name"))
    if name != "artifacts" and not _WRITTEN & given.keys():
        code = text(given.get("code")) or text(given.get("command"))
        body = fenced(code, "") if code else fenced(readable_json(given), "json")
        return joined((aside("Asked", name), body))
    path = PurePosixPath(text(given.get("path")))
    title = text(given.get("title")) or text(given.get("id")) or path.name
    if (content := text(given.get("content")) or text(given.get("file_text"))).strip():
        kind = path.suffix.removeprefix(".")
        about = given if name == "artifacts" or kind in _PLAIN_ENDINGS else {"language": kind, **given}
        return joined((aside("Artifact", title), _shown(content, about)))
    old, new = text(given.get("old_str")), text(given.get("new_str"))
    if not old and not new:
        return aside("Artifact", title)
    return joined((aside("Artifact changed", title), fenced(old), "became", fenced(new) or "nothing"))


def _shown(content: str, about: dict[str, Any]) -> str:
    kind, language = text(about.get("type")), text(about.get("language"))
    if kind in _PLAIN_KINDS and not language:
        return content
    return fenced(content, language or _LANGUAGES.get(kind, ""))


def _result(block: dict[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, str):
        words = content
    else:
        parts = [mapping(one) for one in sequence(content)]
        words = joined(text(one.get("text")) or _source(one) for one in parts)
    # An artifact answers that it is there, which is seen anyway.
    if text(block.get("name")) == "artifacts" and len(words) < 20:
        return ""
    failed = "Error" if block.get("is_error") is True else "Result"
    return joined((aside(failed, text(block.get("name"))), words)) if words else ""


def _source(one: dict[str, Any]) -> str:
    title, address = text(one.get("title")), text(one.get("url"))
    return aside("Source", title, address) if title or address else ""


def _with_artifacts(words: str) -> str:
    """Artifacts of earlier exports are elements in the text."""
    if "<ant" not in words:
        return words

    def shown(found: Element) -> str:
        about: dict[str, Any] = dict(_ATTRIBUTE.findall(found.attributes))
        title = text(about.get("title")) or text(about.get("identifier"))
        return f"\n\n{joined((aside('Artifact', title), _shown(found.body, about)))}\n\n"

    said = _THINKING.sub("", words)
    return replaced(said, elements(said, "antArtifact", unclosed=True), shown).strip()
