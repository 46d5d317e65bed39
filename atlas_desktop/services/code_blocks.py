"""The blocks of code in a message."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Code:
    """`language` is what the fence says, empty where it says nothing."""

    language: str
    text: str = field(repr=False)


def code_blocks(markdown: str) -> list[Code]:
    """In their order, as CommonMark finds them: fenced ones and indented ones."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark", {"html": False}).parse(markdown)
    return [
        Code(token.info.split(maxsplit=1)[0] if token.info.strip() else "", token.content.rstrip("\n"))
        for token in tokens
        if token.type in ("fence", "code_block") and token.content.strip()
    ]
