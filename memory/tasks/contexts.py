"""The exact texts that steps work on, each within the limit of a worker's context."""

from collections.abc import Awaitable, Callable, Sequence

from memory.tasks.entities import MOST_CONTEXT, Evidence, EvidenceKind, Task, Team

Count = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Counts the tokens of texts."""
MOST_MEMORIES = 5
_TOOLS = {
    Team.RESEARCH: "search documents and notes by words and meaning; recall messages and memories",
    Team.ANALYSIS: "extract amounts, dates, money and names; compare; add up; find contradictions",
    Team.WRITING: "put stated values into tables; quote; write linking sentences",
    Team.RATING: "compare quotations with their sources letter by letter; look for parts without an answer",
}
_MARGIN = 200
"""Tokens that are kept free for what is counted apart."""


def estimated(texts: Sequence[str]) -> list[int]:
    """Returns more tokens than texts usually have, where no model can count them."""
    return [len(text) // 3 + 1 for text in texts]


def passage_text(one: Evidence) -> str:
    """Returns a passage as a step reads it: its number, where it stands, and its text on one line."""
    where = f", page {one.page}" if one.page is not None else ""
    text = " ".join(f"{one.header} {one.text}".split())
    return f"[{one.marker}] {one.kind.value} {one.title}{where}: {text}".replace("  ", " ")


async def worker_context(
    task: Task, team: Team, brief: str, evidence: Sequence[Evidence], count: Count, *, output: str
) -> tuple[str, int, list[Evidence]]:
    """Returns a step's context, its tokens, and the passages in it: those that fit into `MOST_CONTEXT`.

    It has the task, what the user said since, at most five memories, the tools at hand, the brief of the
    step, and the format of its return.
    """
    head = [f"Task: {task.brief}"]
    head += [f"Guidance: {one.text}" for one in task.guidance]
    head += [f"Tools: {_TOOLS[team]}", f"Step: {brief}", f"Return: {output}"]
    used = sum(await count(head)) + _MARGIN
    memories = [one for one in evidence if one.kind is EvidenceKind.MEMORY][:MOST_MEMORIES]
    others = [one for one in evidence if one.kind is not EvidenceKind.MEMORY]
    lines = [passage_text(one) for one in (*memories, *others)]
    sizes = await count(lines) if lines else []
    kept: list[Evidence] = []
    shown: list[str] = []
    for one, line, size in zip((*memories, *others), lines, sizes, strict=True):
        if used + size + 1 > MOST_CONTEXT:
            continue
        used += size + 1
        kept.append(one)
        shown.append(line)
    text = "\n".join([*head, *(["Passages:"] if shown else []), *shown])
    return text, (await count([text]))[0], kept


def supervisor_context(task: Task, summary: str, prior: Sequence[str], actions: Sequence[str]) -> str:
    """Returns what a model is shown that decides for the supervisor."""
    status = [f"{step.number}. {step.team.value}: {step.returned or step.state.value}" for step in task.steps]
    return "\n".join(
        [
            f"Task: {task.brief}",
            *(f"The user added: {one.text}" for one in task.guidance),
            f"Conversation so far: {summary or 'none'}",
            "Team status:",
            *status,
            "Prior experience:",
            *(prior or ["none"]),
            f"Available actions: {', '.join(actions)}",
        ]
    )
