"""Writes reports: quotations and values from passages, and an opening that a model writes from these
facts."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from atlas_desktop.locale import N_, _, formats, ngettext, quoted
from atlas_desktop.parsing.plain import structure
from atlas_desktop.parsing.protocol import parser_of
from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.chunking import chunks
from memory.documents.citations import Passage, SourceKind, cite
from memory.documents.entities import FileFacts, NewDocument, ParsedText
from memory.documents.statements import Statement, has, sentences
from memory.tasks.analysis import Findings, Row, Total, Verdict
from memory.tasks.briefs import Brief, Goal
from memory.tasks.contexts import Count, estimated
from memory.tasks.entities import Evidence, EvidenceKind, Report, TaskCitation
from memory.tasks.facts import Fact, Sentence
from memory.tasks.lexicon import content, plain, root, words
from models.errors import ModelsError
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason
from models.ports import ChatModel, TokenCounter

_ATTRIBUTES = {
    "weight": N_("weight"),
    "price": N_("price"),
    "duration": N_("duration"),
    "date": N_("date"),
    "length": N_("length"),
    "volume": N_("volume"),
    "power": N_("power"),
    "temperature": N_("temperature"),
    "share": N_("share"),
    "speed": N_("speed"),
    "count": N_("count"),
}
_LONGEST_TITLE = 70
_MEDIA_TYPE = "text/markdown"


class ReportWriter:
    """Collects the text of one report with its citations. Sources are numbered as they are first cited."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._markers: dict[int, int] = {}
        self._sources: dict[int, Evidence] = {}
        self._citations: dict[tuple[int, int, int], TaskCitation] = {}
        self.by_model = False

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def line(self, text: str = "") -> None:
        """Adds a line; of empty lines, one is enough."""
        if text or self._parts[-1:] != ["\n"]:
            self._parts.append(f"{text}\n")

    def cite(self, sentence: Sentence) -> str:
        """Cites a sentence verbatim; returns its marker, such as "[1]"."""
        return self.mark(sentence.evidence, *sentence.whole, sentence.text)

    def mark(self, evidence: Evidence, begin: int, end: int, quote: str) -> str:
        """Cites a range of a source; returns its marker."""
        marker = self._markers.setdefault(evidence.marker, len(self._markers) + 1)
        self._sources[marker] = evidence
        lines = evidence.lines
        if lines is not None:
            first = lines[0] + evidence.text.count("\n", 0, begin - evidence.begin)
            lines = (first, first + quote.count("\n"))
        self._citations.setdefault(
            (marker, begin, end),
            TaskCitation(
                marker=marker,
                kind=evidence.kind,
                source=evidence.source,
                title=evidence.title,
                page=evidence.page,
                lines=lines,
                begin=begin,
                end=end,
                quote=quote,
                verified=True,
            ),
        )
        return f"[{marker}]"

    def cites(self, citations: Sequence[TaskCitation]) -> bool:
        """Whether exactly these places are cited so far."""
        cited = {(one.source, begin, end) for (_, begin, end), one in self._citations.items()}
        return cited == {(one.source, one.begin, one.end) for one in citations}

    def _lines_of(self, marker: int) -> tuple[int, int] | None:
        """Returns the lines from the first to the last that is cited of a source."""
        cited = [one.lines for one in self._citations.values() if one.marker == marker and one.lines]
        return (min(first for first, _ in cited), max(last for _, last in cited)) if cited else None

    def sentences(self, told: Sequence[tuple[str, str]]) -> None:
        """Adds a paragraph of a model's sentences, each with its markers."""
        self._parts.append(" ".join(f"{text} {markers}" for text, markers in told) + "\n")
        self.by_model = True

    def report(self, title: str) -> Report:
        """Returns the report, with the list of its sources at the end."""
        if self._sources:
            self.line()
            self.line(f"## {_('Sources')}")
            self.line()
            for marker, evidence in sorted(self._sources.items()):
                self.line(f"{marker}. {source_text(replace(evidence, lines=self._lines_of(marker)))}")
        return Report(
            text=self.text,
            citations=tuple(self._citations.values()),
            title=title,
            by_model=self.by_model,
        )


def report_document(report: Report, project: str | None) -> NewDocument:
    """Returns a report as a document without a file, which replaces the task's earlier one. Takes some
    milliseconds."""
    text = clean(report.text)
    headings, tables = structure(text)
    parsed = ParsedText(text, headings=headings, tables=tables, title=report.title)
    data = text.encode()
    return NewDocument(
        path="",
        facts=FileFacts("", len(data), 0),
        sha256=hashlib.sha256(data).hexdigest(),
        media_type=_MEDIA_TYPE,
        parser=parser_of(_MEDIA_TYPE),
        title=clean_line(report.title),
        parsed=parsed,
        chunks=tuple(chunks(parsed, _MEDIA_TYPE)),
        project=project,
        document=report.document,
    )


def source_text(evidence: Evidence) -> str:
    """Returns the source of a passage, with a link to it."""
    if evidence.kind is EvidenceKind.MEMORY:
        return f"[{_('a memory')}](atlas://memory/{evidence.source})"
    if evidence.kind is EvidenceKind.MESSAGE:
        return f"[{evidence.title or _('a message')}](atlas://message/{evidence.source})"
    if evidence.page is not None:
        where = _("{title}, page {page}", title=evidence.title, page=evidence.page)
    elif evidence.lines is not None:
        first, last = evidence.lines
        where = (
            _("{title}, line {line}", title=evidence.title, line=first)
            if first == last
            else _("{title}, lines {first}–{last}", title=evidence.title, first=first, last=last)
        )
    else:
        where = evidence.title
    return f"[{where}](atlas://{evidence.kind.value}/{evidence.source})"


def title_of(brief: str) -> str:
    """Returns the title of a report: the beginning of its brief."""
    line = " ".join(brief.split()).rstrip(".")
    if len(line) <= _LONGEST_TITLE:
        return line
    return line[:_LONGEST_TITLE].rpartition(" ")[0] + " …"


def opening(writer: ReportWriter, brief: Brief, findings: Findings) -> None:
    """Writes the first paragraph without a model: the result in a sentence or two."""
    lines: list[str] = []
    if findings.chosen and findings.best is not None:
        fact = findings.best
        lines.append(
            _(
                "{name}: {value}, {attribute} {mark}.",
                name=fact.subject,
                value=fact.text,
                attribute=attribute_text(fact.attribute),
                mark=writer.cite(fact.sentence),
            )
        )
    elif len(findings.chosen) == 1:
        name = findings.chosen[0]
        marks = _marks(writer, findings, name)
        lines.append(_("{name} is the one that keeps to every limit {marks}.", name=name, marks=marks))
    elif findings.chosen:
        names = ", ".join(f"{name} {_marks(writer, findings, name)}" for name in findings.chosen)
        lines.append(_("These keep to every limit: {names}.", names=names))
    elif findings.verdicts and findings.goal is Goal.COMPARE:
        lines.append(_("None keeps to every limit."))
    elif brief.choice and findings.rows:
        lines.append(_("Nothing was found that decides between them."))
    lines += [_in_total(total) for total in findings.totals]
    if twice := _in_several(findings):
        lines.append(_("The same amount is in several sources: {amounts}.", amounts=", ".join(twice)))
    if findings.repeated:
        amounts = ", ".join(dict.fromkeys(fact.text for fact in findings.repeated))
        lines.append(
            _("Added once, as several sources have it with the same date: {amounts}.", amounts=amounts)
        )
    other = [fact for fact in findings.not_added if fact not in findings.repeated]
    if findings.totals and other:
        amounts = ", ".join(dict.fromkeys(fact.text for fact in other[:_MOST_AMOUNTS]))
        more = "" if len(other) <= _MOST_AMOUNTS else " …"
        lines.append(_("Found, but not added: {amounts}.", amounts=amounts + more))
    if findings.goal is Goal.CONTRADICTION:
        lines.append(
            _("The sources contradict each other in the places below.")
            if findings.contradictions
            else _("No two sources were found to contradict each other. What they say is below.")
        )
    if lines:
        writer.line(" ".join(lines))
        writer.line()


def _marks(writer: ReportWriter, findings: Findings, name: str) -> str:
    """Cites the evidence that a subject keeps to the limits."""
    own = [one for one in findings.verdicts if one.subject == name]
    marks = [writer.cite(one.fact.sentence) for one in own]
    marks += [writer.cite(one.wish) for one in own if one.wish is not None]
    return " ".join(dict.fromkeys(marks))


def body(writer: ReportWriter, brief: Brief, findings: Findings) -> None:
    """Writes the sections for which there are findings."""
    if any(row.facts for row in findings.rows):
        _table(writer, findings)
    if findings.verdicts or (findings.wishes and brief.choice):
        _verdicts(writer, findings)
    if findings.totals:
        _totals(writer, findings)
    if findings.contradictions:
        _heading(writer, _("Contradictions"))
        for one, other in findings.contradictions:
            writer.line(f"- {quoted(_flat(one))} {writer.cite(one)}")
            writer.line(f"  {quoted(_flat(other))} {writer.cite(other)}")
    if findings.dated:
        _heading(writer, _("Dates"))
        for value, item in findings.dated:
            writer.line(f"- **{value.text.rstrip(' ,.')}**: {_flat(item)} {writer.cite(item)}")
    _quoted(writer, _("What has to be done"), findings.duties)
    if findings.goal is Goal.PLAN:
        _quoted(writer, _("What you said"), [wish.sentence for wish in findings.wishes])
    # A sentence may be about several things.
    rows = dict.fromkeys(item for row in findings.rows for item in row.sentences)
    _quoted(writer, _("In the sources"), [*rows, *findings.points])
    if findings.missing or findings.unspoken:
        _heading(writer, _("Not found"))
    for part in findings.missing:
        writer.line(f"- {part}")
    if findings.unspoken:
        names = ", ".join(quoted(word) for word in findings.unspoken)
        writer.line(_("These words of the task are in none of the sentences above: {words}.", words=names))


def foreign(writer: ReportWriter, count: int) -> None:
    """Writes how many documents in another language were passed over."""
    if count:
        writer.line()
        writer.line(
            ngettext(
                "{count} document in another language may also be about this. It has none of the words "
                "of the task and was not read: name what you look for in its language, too.",
                "{count} documents in another language may also be about this. They have none of the words "
                "of the task and were not read: name what you look for in their language, too.",
                count,
            )
        )


def _quoted(writer: ReportWriter, heading: str, items: Sequence[Sentence]) -> None:
    """Writes a section of verbatim sentences from their sources."""
    if items:
        _heading(writer, heading)
    for item in items:
        writer.line(f"- {_flat(item)} {writer.cite(item)}")


def _heading(writer: ReportWriter, text: str) -> None:
    writer.line()
    writer.line(f"## {text}")
    writer.line()


def _table(writer: ReportWriter, findings: Findings) -> None:
    _heading(writer, _("Comparison") if findings.goal is Goal.COMPARE else _("List"))
    names = [attribute_text(name) for name in findings.attributes]
    writer.line("| " + " | ".join(["", *names]) + " |")
    writer.line("|" + " --- |" * (len(names) + 1))
    for row in findings.rows:
        cells = [_cell(writer, row, name) for name in findings.attributes]
        writer.line("| " + " | ".join([row.subject, *cells]) + " |")
    doubts = [(row, name) for row in findings.rows for name in row.others]
    if doubts:
        writer.line()
    for row, name in doubts:
        fact, other = row.facts[name], row.others[name]
        writer.line(
            "- "
            + _(
                "{name}: for the {attribute}, sources differ: {one} {mark}, {other} {other_mark}.",
                name=row.subject,
                attribute=attribute_text(name),
                one=fact.text,
                mark=writer.cite(fact.sentence),
                other=other.text,
                other_mark=writer.cite(other.sentence),
            )
        )


def _cell(writer: ReportWriter, row: Row, name: str) -> str:
    fact = row.facts.get(name)
    if fact is None:
        return "–"
    return f"{fact.text.replace('|', '/')} {writer.cite(fact.sentence)}"


def _verdicts(writer: ReportWriter, findings: Findings) -> None:
    _heading(writer, _("What suits you") if findings.goal is Goal.COMPARE else _("Your limits"))
    for one in findings.verdicts:
        writer.line(f"- {_verdict(writer, one)}")
    judged = {id(one.wish) for one in findings.verdicts}
    for wish in findings.wishes:
        if id(wish.sentence) not in judged and findings.goal is not Goal.PLAN:
            writer.line(f"- {_flat(wish.sentence)} {writer.cite(wish.sentence)}")


def _verdict(writer: ReportWriter, one: Verdict) -> str:
    limit = one.limit.value.text
    values = {
        "name": one.subject or _("The total"),
        "value": one.fact.text,
        "limit": limit,
        "mark": writer.cite(one.fact.sentence),
        "own": "" if one.wish is None else f" {writer.cite(one.wish)}",
    }
    if one.fits:
        return _("{name}: {value} {mark} is within the limit of {limit}{own}.", **values)
    if one.limit.least:
        return _("{name}: {value} {mark} is less than the least of {limit}{own}.", **values)
    return _("{name}: {value} {mark} is over the limit of {limit}{own}.", **values)


def _totals(writer: ReportWriter, findings: Findings) -> None:
    _heading(writer, _("Total"))
    for number, total in enumerate(findings.totals):
        if number:
            writer.line()
        for fact in total.facts:
            item = fact.sentence
            text = f"{fact.subject}: {fact.text}" if item.is_row else f"{fact.text}: {_flat(item)}"
            writer.line(f"- {text} {writer.cite(item)}")
        if len(total.facts) > 1:
            sum_ = " + ".join(_bare(fact) for fact in total.facts)
            writer.line()
            writer.line(f"{sum_} = **{_amount(total)}**")
    if findings.not_added:
        _heading(writer, _("Not added"))
        for item in dict.fromkeys(fact.sentence for fact in findings.not_added):
            amounts = ", ".join(fact.text for fact in findings.not_added if fact.sentence is item)
            writer.line(f"- {amounts}: {_flat(item)} {writer.cite(item)}")


def _in_several(findings: Findings) -> list[str]:
    """Returns the added amounts that are in more than one source: perhaps they are one."""
    sources: dict[str, set[str]] = {}
    for fact in (fact for total in findings.totals for fact in total.facts):
        if fact.value is not None and fact.value.amount is not None:
            amount = _with_unit(plain(fact.value.amount), fact.value.unit)
            sources.setdefault(amount, set()).add(fact.sentence.evidence.source)
    return [amount for amount, found in sources.items() if len(found) > 1]


def _in_total(total: Total) -> str:
    """The sentence of a total. Only the rows of one table surely belong together."""
    amount = _amount(total)
    of_one_table = len({fact.sentence.evidence.source for fact in total.facts}) == 1 and all(
        fact.sentence.is_row for fact in total.facts
    )
    if len(total.facts) == 1 or of_one_table:
        return _("In total: {amount}.", amount=amount)
    return _(
        "In total: {amount}, if each of the {n} amounts listed under “Total” is a part of it.",
        amount=amount,
        n=len(total.facts),
    )


def _bare(fact: Fact) -> str:
    value = fact.value
    return fact.text if value is None or value.amount is None else value.text


def _amount(total: Total) -> str:
    amount = plain(total.amount)
    if total.facts[0].value is not None and total.facts[0].value.dimension == "money":
        exponent = total.amount.normalize().as_tuple().exponent
        places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        amount = formats().decimal(float(total.amount), max(places, 2) if places else 0)
    return _with_unit(amount, total.unit)


def _with_unit(amount: str, unit: str) -> str:
    """Returns an amount as it is written: "540 € a month", but "£540 a month"."""
    return f"{unit[0]}{amount}{unit[1:]}" if unit[:1] in ("£", "$") else f"{amount} {unit}".strip()


def _flat(item: Sentence) -> str:
    """Returns a sentence on one line; a row of a table without its bars."""
    text = " ".join(item.text.split())
    if item.is_row:
        text = ", ".join(part.strip() for part in text.strip("|").split("|") if part.strip())
    return text.lstrip("-*•# ")


def attribute_text(name: str) -> str:
    """Returns the name of a column: the brief's own words, or the name of a known kind."""
    return _(_ATTRIBUTES[name]) if name in _ATTRIBUTES else name


def unchanged(writer: ReportWriter, instruction: str) -> None:
    """Says that an instruction of the user's changed nothing."""
    writer.line()
    writer.line(
        _(
            "Your instruction “{text}” brought nothing new: this report has the same passages as before.",
            text=clean_line(instruction),
        )
    )


def footer(writer: ReportWriter, reason: str, now: datetime) -> None:
    """Returns the note on how the report was made."""
    day = formats().date(now)
    texts = {
        "used": _(
            "The opening was worded by the model from these sources; everything else was taken from them."
        ),
        "none": _("Made without a model: everything was taken from the sources."),
        "failed": _(
            "The model failed, so the report was made without it: everything was taken from the sources."
        ),
        "unsupported": _("What the model wrote was not in the sources and was left out."),
    }
    writer.line()
    writer.line(f"*{_('Report of {day}.', day=day)} {texts[reason]}*")


LEAST_TO_JUDGE = 1_000_000_000
"""Number of weights. A smaller model is not asked to judge a report, because rules do that better."""
_MOST_FACTS = 14
_MOST_AMOUNTS = 8
_LEAST_SAID = 2
"""Words that a sentence of the opening must have to say something."""
_ASK = "Write the opening of a report in two or three short sentences. Use only these facts, and add nothing."
_GRAMMAR = (
    'root ::= "{\\"action\\": \\"" ("approve" | "revise") "\\", \\"reason\\": \\"" [^"\\\\\\n]{1,120} "\\"}"'
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer: its text, the prompt, and its cost. `stopped`: it ended by itself."""

    text: str
    prompt: str
    prompt_tokens: int
    tokens: int
    ms: float
    stopped: bool


@dataclass(frozen=True, slots=True)
class Opening:
    """Sentences of a model, each with the source sentences that support it; `left_out` claimed something that
    no source says."""

    told: tuple[tuple[str, tuple[Sentence, ...]], ...] = ()
    left_out: int = 0


class _Judged(msgspec.Struct):
    action: str
    reason: str


class Wording:
    """The model of a room for tasks: one request at a time, behind the user's turns."""

    def __init__(
        self,
        model: Callable[[], ChatModel],
        counter: Callable[[], TokenCounter],
        checkpoint: Callable[[], Awaitable[None]],
    ) -> None:
        self._model = model
        self._counter = counter
        self._checkpoint = checkpoint
        self._works = True

    @property
    def works(self) -> bool:
        """Whether the model worked when it was last needed."""
        return self._works

    def counting(self) -> Count:
        """Returns the token counter: the model's own, or an estimate without a working model."""

        async def count(texts: Sequence[str]) -> list[int]:
            if self._works:
                try:
                    return await self._counter().count(texts)
                except ModelsError:
                    self._works = False
            return estimated(texts)

        return count

    async def ready(self) -> bool:
        """Loads the model; returns whether it works."""
        try:
            await self._model().info()
        except ModelsError:
            self._works = False
        else:
            self._works = True
        return self._works

    async def parameters(self) -> int:
        """Returns the number of the model's weights, 0 if it is unknown. Raises `ModelsError`."""
        return (await self._model().info()).parameters

    async def ask(self, prompt: str, most: int, *, grammar: str | None = None) -> Answer:
        """Asks the model. Raises `ModelsError`."""
        await self._checkpoint()
        began = time.perf_counter()
        params = GenerationParams(
            max_tokens=most, temperature=0.0, seed=1, grammar=grammar, repeat_penalty=1.1
        )
        generation = self._model().generate((ChatMessage(Role.USER, prompt),), params, Lane.TASK)
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    return Answer(
                        event.text,
                        prompt,
                        event.timings.prompt_tokens,
                        event.timings.prompt_tokens + event.timings.completion_tokens,
                        1000 * (time.perf_counter() - began),
                        event.stop_reason is StopReason.STOP,
                    )
        except BaseException:
            generation.cancel()
            raise
        raise RuntimeError("a generation ended without its completion")


def opening_prompt(brief: str, facts: Sequence[str]) -> str:
    """Returns the prompt for the opening of a report."""
    lines = [f"- {fact}" for fact in facts[:_MOST_FACTS]]
    return "\n".join([_ASK, "", f"Question: {brief}", "", "Facts:", *lines, "", "Opening:"])


async def checked(
    text: str, given: Sequence[Sentence], *, complete: bool, subjects: Sequence[str] = ()
) -> Opening:
    """Checks a model's text, sentence by sentence, against the sentences that it was given.

    A sentence is kept, with its sources, if they support it and each of its clauses is in the words of one of
    them: a small model joins the words of several to what none of them says. It must name one of the
    `subjects`, if there are several: nobody knows of which one "It weighs 920 kg" is. An unfinished last
    sentence is left out.
    """
    return await asyncio.to_thread(_checked, text, given, complete=complete, subjects=subjects)


def _checked(text: str, given: Sequence[Sentence], *, complete: bool, subjects: Sequence[str]) -> Opening:
    passages = [
        Passage(
            marker=number,
            kind=SourceKind.DOCUMENT,
            document=one.evidence.source,
            title=one.evidence.title,
            page=None,
            lines=None,
            begin=0,
            end=len(one.text),
            text=one.text,
        )
        for number, one in enumerate(given, 1)
    ]
    lines = [_without_mark(line) for line in text.split("\n")]
    plain = " ".join(" ".join(lines).replace("[", "(").replace("]", ")").replace("|", " ").split())
    names = [frozenset(map(root, words(name))) for name in subjects]
    ranges = sentences(plain)
    if ranges and not complete and not plain.rstrip().endswith((".", "!", "?")):
        ranges = ranges[:-1]
    found = cite(plain, passages)
    unsupported = set(found.unsupported)
    told: list[tuple[str, tuple[Sentence, ...]]] = []
    left_out = 0
    seen: set[str] = set()
    for begin, end in ranges[:4]:
        sentence = plain[begin:end]
        if sentence in seen:
            continue
        seen.add(sentence)
        support = [one.marker for one in found.citations if one.sentence == (begin, end) and one.verified]
        supported = (begin, end) not in unsupported
        stems = frozenset(map(root, words(sentence)))
        if len(content(sentence)) < _LEAST_SAID or (
            len(names) > 1 and not any(stems & name for name in names)
        ):
            continue
        if supported and support and _in_words_of(sentence, given):
            told.append((sentence, tuple(given[marker - 1] for marker in dict.fromkeys(support))))
        elif support or not supported:
            left_out += 1
        # Anything else is a greeting or a hedge, and makes no claim.
    return Opening(tuple(told), left_out)


def _without_mark(line: str) -> str:
    """Returns a line without the mark of an item, which models copy from the list of facts."""
    mark, space, rest = line.strip().partition(" ")
    is_mark = mark in ("-", "*", "•") or mark.rstrip(".)").isdecimal()
    return rest if space and is_mark else line


def _in_words_of(sentence: str, given: Sequence[Sentence]) -> bool:
    """Whether each clause has only words of one of the source sentences, or of its document's title.

    A clause of one word, like "in winter", must be in the same source as the one beside it.
    """
    sources = [Statement(f"{one.text} {one.evidence.title}").words for one in given]
    clauses: list[frozenset[str]] = []
    alone: frozenset[str] = frozenset()
    for clause in Statement(sentence).clauses:
        if len(clause.words) > 1:
            clauses.append(clause.words | alone)
            alone = frozenset()
        elif clauses:
            clauses[-1] |= clause.words
        else:
            alone |= clause.words
    return all(any(all(has(word, words) for word in one) for words in sources) for one in (*clauses, alone))


def judging_prompt(context: str, report: str) -> str:
    """Returns the prompt with which a large model judges a finished report."""
    reply = '{"action": "approve" or "revise", "reason": "…"}'
    return f"{context}\n\nReport:\n{report}\n\nDoes the report answer the task? Reply as {reply}."


def judgement(text: str) -> str:
    """Returns the action that a model chose; "" if its answer is not an action."""
    try:
        return msgspec.json.decode(text, type=_Judged).action
    except (msgspec.ValidationError, msgspec.DecodeError):
        return ""


JUDGING_GRAMMAR = _GRAMMAR
