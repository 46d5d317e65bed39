"""The tree of a conversation, as pure functions; and blocks of code."""

from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.services.sessions import branch_of, newest_leaf, places, siblings, stretches
from atlas_desktop.tui.chat.markdown import Code, code_blocks
from memory.entities import Node
from models.messages import Role


def tree(*edges: tuple[str, str | None]) -> list[Node]:
    """Messages by id and parent; those that begin with `u` are a person's."""
    return [Node(one, up, Role.USER if one[0] == "u" else Role.ASSISTANT) for one, up in edges]


NODES = tree(("u1", None), ("a1", "u1"), ("u2", "a1"), ("a2", "u2"), ("u3", "a1"), ("a3", "u3"), ("a4", "u3"))


def test_branches_leaves_and_variants() -> None:
    assert [n.id for n in branch_of(NODES, "a2")] == ["u1", "a1", "u2", "a2"]
    assert branch_of(NODES, None) == []
    assert newest_leaf(NODES, "u1") == "a4"
    assert newest_leaf(NODES, "u2") == "a2"
    assert siblings(NODES, "u2") == ["u2", "u3"]
    assert siblings(NODES, "a1") == ["a1"]
    assert siblings(NODES, "x") == []
    assert places(NODES) == {"u2": (1, 2), "u3": (2, 2), "a3": (1, 2), "a4": (2, 2)}


def test_a_tree_is_shown_in_stretches() -> None:
    (root,) = stretches(NODES, "a2")
    assert [n.id for n in root.nodes] == ["u1", "a1"]
    assert root.shown
    first, second = root.ways
    assert ([n.id for n in first.nodes], first.shown) == (["u2", "a2"], True)
    assert ([n.id for n in second.nodes], second.shown) == (["u3"], False)
    assert [way.nodes[0].id for way in second.ways] == ["a3", "a4"]
    assert root.leaf == "a4"


@given(st.lists(st.integers(0, 30), max_size=60))
def test_every_message_stands_in_one_stretch(parents: list[int]) -> None:
    nodes = [Node("0", None, Role.USER)]
    for number, up in enumerate(parents, 1):
        nodes.append(Node(str(number), str(up % number), Role.USER))
    found: list[str] = []
    todo = stretches(nodes, str(len(parents)))
    while todo:
        one = todo.pop()
        found += [n.id for n in one.nodes]
        assert len(one.ways) != 1
        todo += one.ways
    assert sorted(found) == sorted(n.id for n in nodes)


def test_a_conversation_may_be_longer_than_the_stack() -> None:
    nodes = [Node(str(n), str(n - 1) if n else None, Role.USER) for n in range(5_000)]
    (only,) = stretches(nodes, "4999")
    assert len(only.nodes) == 5_000
    assert newest_leaf(nodes, "0") == "4999"


def test_code_is_found_as_markdown_knows_it() -> None:
    text = (
        "Look:\n\n```python extra\nprint('`x`')\n```\n\nand `not this`\n\n"
        "    indented\n\n~~~\n```\n~~~\n\n```\n\n```"
    )
    assert code_blocks(text) == [Code("python", "print('`x`')"), Code("", "indented"), Code("", "```")]
