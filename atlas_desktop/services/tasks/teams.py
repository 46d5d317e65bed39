"""The work of the teams: one step of a task, from its brief to its result."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from atlas_desktop.services.documents.search import DocumentSearchService
from atlas_desktop.services.recall import RecallService
from atlas_desktop.services.tasks import reporting
from atlas_desktop.services.tasks.reporting import (
    JUDGING_GRAMMAR,
    LEAST_TO_JUDGE,
    Wording,
    checked,
    judgement,
    judging_prompt,
    opening_prompt,
)
from memory.documents.entities import Chunk, DocumentHit, DocumentKind, DocumentQuery
from memory.documents.statements import has
from memory.errors import DocumentNotFound, MessageNotFound
from memory.recall.entities import Hit, RecallQuery
from memory.recall.words import is_english, language_of
from memory.storage.store import Store
from memory.tasks.analysis import Findings, analyse
from memory.tasks.briefs import Brief, Goal
from memory.tasks.contexts import (
    MOST_MEMORIES,
    AnalysisBrief,
    AnalysisReturn,
    Query,
    RatingReturn,
    ResearchBrief,
    ResearchReturn,
    StatedFact,
    WritingBrief,
    WritingReturn,
    decode,
    encode,
    supervisor_context,
    worker_context,
)
from memory.tasks.entities import (
    MOST_CONTEXT,
    Baseline,
    Evidence,
    EvidenceKind,
    Report,
    Step,
    Task,
    TaskCitation,
    Team,
)
from memory.tasks.facts import Fact, Sentence, subjects_of
from memory.tasks.lexicon import content, known, plain, root, values, words
from memory.tasks.supervising import EMPTIED, understood
from models.errors import ModelsError
from models.messages import Role

PASSAGES = 60
"""The maximum number of passages of a task."""
_HITS = 16
_HITS_OF_SUBJECT = 6
_CLOSE = 0.45
"""A passage that contains no word of the question counts as found from this cosine on."""
_WHOLE_DOCUMENTS = 12
_LONGEST_DOCUMENT = 24
"""Chunks. Of a longer document, only those that were found are read."""
_LONGEST = 2_000
"""Characters. A message up to this length is taken in full; of a longer one, only the part that was found."""


@dataclass(frozen=True, slots=True)
class _Found:
    kind: EvidenceKind
    source: str
    title: str
    begin: int
    end: int
    text: str
    page: int | None = None
    lines: tuple[int, int] | None = None
    heading: tuple[str, ...] = ()
    header: str = ""
    session: str | None = None
    sha256: str = ""
    subject: str = ""

    @property
    def place(self) -> tuple[str, int, int]:
        return self.source, self.begin, self.end


@dataclass(frozen=True, slots=True)
class Passages:
    """What was found. `foreign` is how many documents in another language than the task have passages near
    it, but none of its words: their titles are not kept, because they stay when a document is deleted."""

    evidence: list[Evidence]
    foreign: int = 0


class Research:
    """The research of one room. The text of a document is data, never an instruction: it goes only into
    passages."""

    def __init__(self, store: Store, recall: RecallService, search: DocumentSearchService) -> None:
        self._store = store
        self._recall = recall
        self._search = search

    @property
    def embedding_s(self) -> float:
        """Seconds that the embedding model has taken so far."""
        return self._recall.embedding_s + self._search.embedding_s

    async def find(
        self, task: Task, step_id: str, brief: Brief, wanted: ResearchBrief, known: Sequence[Evidence]
    ) -> Passages:
        """Returns passages that are not among the known ones, numbered after them; they get their IDs when
        stored."""
        await self._recall.load()
        await self._search.load()
        places = {(one.source, one.begin, one.end) for one in known}
        found: list[_Found] = []
        foreign: set[str] = set()
        for query in wanted.queries:
            about = await self._about(brief, query)
            documents, others = await self._documents(task, query, about, wanted)
            foreign |= {hit.chunk.document for hit in others if _is_foreign(hit, brief)}
            # A total of chosen documents has nothing of what the user said elsewhere.
            only_documents = task.documents is not None and brief.goal is Goal.SUM
            own = await self._own(task, query, about) if query.own and not only_documents else []
            for one in (*own, *documents):
                if one.place not in places:
                    places.add(one.place)
                    found.append(replace(one, subject=query.subject))
        first = max((one.marker for one in known), default=0) + 1
        evidence = [
            Evidence(
                id="",
                step=step_id,
                marker=number,
                kind=one.kind,
                source=one.source,
                title=one.title,
                begin=one.begin,
                end=one.end,
                text=one.text,
                page=one.page,
                lines=one.lines,
                heading=one.heading,
                header=one.header,
                session=one.session,
                sha256=one.sha256,
                subject=one.subject,
            )
            for number, one in enumerate(found[: max(0, PASSAGES - len(known))], first)
        ]
        return Passages(evidence, len(foreign.difference(one.source for one in (*known, *evidence))))

    async def _about(self, brief: Brief, query: Query) -> frozenset[str]:
        """Returns the stems; a passage must contain at least one of them."""
        alike = (group for group in known().alike if brief.noun in group & known().papers)
        return frozenset({*brief.topic, *content(query.text)} - {""}).union(*alike)

    # --- documents and notes ----------------------------------------------------------------------

    async def _documents(
        self, task: Task, query: Query, about: frozenset[str], wanted: ResearchBrief
    ) -> tuple[list[_Found], list[DocumentHit]]:
        """Returns passages that tell something of what is asked, and the other ones that are near it."""
        isolated = await self._store.projects.isolated()
        asked = DocumentQuery(
            query.text,
            k=_HITS_OF_SUBJECT if query.subject else _HITS,
            documents=wanted.documents,
            kinds=frozenset(DocumentKind),
            without=isolated - {task.project},
            excluded=await self._store.tasks.reports(),
        )
        hits: list[DocumentHit] = []
        if task.project is not None:
            hits += await self._search.search(replace(asked, project=task.project))
        if task.project is None or (task.project not in isolated and len(hits) < asked.k):
            known = {hit.chunk.id for hit in hits}
            hits += [hit for hit in await self._search.search(asked) if hit.chunk.id not in known]
        kept = [hit for hit in hits if _close(hit, about)]
        others = [hit for hit in hits if hit not in kept]
        if not wanted.whole:
            return [_of_chunk(hit.chunk, hit) for hit in kept[: asked.k]], others
        found: list[_Found] = []
        for document in list(dict.fromkeys(hit.chunk.document for hit in kept))[:_WHOLE_DOCUMENTS]:
            hit = next(one for one in kept if one.chunk.document == document)
            try:
                chunks = await self._store.documents.chunks(document)
            except DocumentNotFound:
                # It was removed in the meantime.
                continue
            if len(chunks) <= _LONGEST_DOCUMENT:
                found += [_of_chunk(chunk, hit) for chunk in chunks]
            else:
                found += [_of_chunk(one.chunk, one) for one in kept if one.chunk.document == document]
        return found, others

    # --- what the user said -----------------------------------------------------------------------

    async def _own(self, task: Task, query: Query, about: frozenset[str]) -> list[_Found]:
        """Returns memories, at most five, and messages of the user; if the task may read only some documents,
        only memories."""
        found: list[_Found] = []
        kinds = {"memory"} if task.documents is not None else {"memory", "message"}
        answer = await self._recall.answer(
            RecallQuery(query.text, k=_HITS, kinds=kinds, project=task.project, widen=True)
        )
        memories = 0
        for hit in answer.hits:
            if hit.replaced or not _hit_close(hit, about):
                continue
            if hit.kind == "memory":
                memories += 1
                if memories <= MOST_MEMORIES:
                    found.append(_Found(EvidenceKind.MEMORY, hit.id, "", 0, len(hit.text), hit.text))
            elif (one := await self._message(hit, task.brief)) is not None:
                found.append(one)
        return found

    async def _message(self, hit: Hit, brief: str) -> _Found | None:
        """Returns a message of the user's as a passage. Neither a model's replies nor the brief itself count
        as evidence."""
        try:
            variants = await self._store.variants(hit.id)
        except MessageNotFound:
            # It was deleted in the meantime.
            return None
        message = next(one for one in variants if one.id == hit.id)
        if message.role is not Role.USER or message.content.strip() == brief.strip():
            return None
        begin, end = 0, len(message.content)
        if end > _LONGEST:
            begin = max(0, message.content.find(hit.passage))
            end = min(end, begin + min(len(hit.passage), _LONGEST))
        session = await self._store.get_session(message.session_id)
        return _Found(
            EvidenceKind.MESSAGE,
            message.id,
            session.title,
            begin,
            end,
            message.content[begin:end],
            session=session.id,
        )


def _of_chunk(chunk: Chunk, hit: DocumentHit) -> _Found:
    return _Found(
        EvidenceKind(hit.kind.value),
        chunk.document,
        hit.title,
        chunk.begin,
        chunk.end,
        chunk.text,
        page=chunk.page,
        lines=chunk.lines,
        heading=chunk.heading,
        header=chunk.header,
        sha256=hit.sha256,
    )


def _close(hit: DocumentHit, about: frozenset[str]) -> bool:
    text = " ".join([hit.title, *hit.chunk.heading, hit.chunk.text])
    told = frozenset(map(root, words(text)))
    return any(has(word, told) for word in about) or (hit.cosine or 0.0) >= _CLOSE


def _is_foreign(hit: DocumentHit, brief: Brief) -> bool:
    """Whether a passage is in another language than the brief; for a total, only one with an amount."""
    text = f"{hit.title}. {hit.chunk.text}"
    if brief.goal is Goal.SUM and all(one.dimension in ("date", "count") for one in values(text)):
        return False
    mine, other = language_of(brief.text), language_of(text)
    return mine != other and (other is not None or is_english(text))


def _hit_close(hit: Hit, about: frozenset[str]) -> bool:
    return not about.isdisjoint(map(root, words(hit.text))) or (hit.grounds.cosine or 0.0) >= _CLOSE


_MOST_TRIES = 2
"""The most attempts at a step with a model. After them, it is done without one, because the model may be what
crashes the program."""
_BASELINE_PASSAGES = 6
_BASELINE_TOKENS = 300
_PRIOR = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """A step that is done, with the evidence that it found and the report that it wrote or checked."""

    step: Step
    evidence: tuple[Evidence, ...] = ()
    report: Report | None = None
    baseline: Baseline | None = None
    count: int = 0
    code: str = ""


class Teams:
    """The teams of one room. `now` is the present, for the date of a report."""

    def __init__(
        self, store: Store, research: Research, wording: Wording, now: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._research = research
        self._wording = wording
        self._now = now
        self._last: tuple[tuple[str, ...], Findings] | None = None

    async def work(self, task: Task, step: Step) -> Outcome:
        """Does a step. If the model fails, the step continues without it. Raises what the store raises."""
        loading = time.perf_counter()
        await self._wording.ready()
        began, embedded = time.perf_counter(), self._research.embedding_s
        loading = 1000 * (began - loading)
        known = await self._store.tasks.evidence(task.id)
        brief = understood(task)
        if step.team is Team.RESEARCH:
            outcome = await self._find(task, step, brief, known)
        elif step.team is Team.ANALYSIS:
            outcome = await self._analyse(task, step, brief, known)
        elif step.team is Team.WRITING:
            outcome = await self._write(task, step, brief, known)
        else:
            outcome = await self._rate(task, step, brief)
        spent = 1000 * (time.perf_counter() - began)
        model_ms = outcome.step.model_ms + 1000 * (self._research.embedding_s - embedded)
        done = replace(outcome.step, model_ms=model_ms + loading, own_ms=max(0.0, spent - model_ms))
        return replace(outcome, step=done)

    # --- research ---------------------------------------------------------------------------------

    async def _find(self, task: Task, step: Step, brief: Brief, known: Sequence[Evidence]) -> Outcome:
        wanted = decode(step.brief, ResearchBrief)
        found = await self._research.find(task, step.id, brief, wanted, known)
        context, tokens, kept = await worker_context(
            task, step.team, step.brief, found.evidence, self._wording.counting(), output="ResearchReturn"
        )
        returned = ResearchReturn(
            len(kept),
            len({one.source for one in kept}),
            tuple(subjects_of(brief, [*known, *kept])),
            tuple(await self._prior(task)),
            found.foreign,
        )
        done = replace(step, returned=encode(returned), context=context, context_tokens=tokens)
        return Outcome(done, tuple(kept), count=len(kept), code="found")

    async def _prior(self, task: Task) -> list[str]:
        """Returns the briefs of finished tasks about the same subject, each with its number of cited
        sources."""
        own = frozenset(content(task.brief))
        alike = [
            (len(own & frozenset(content(text))), f"{text} ({count})")
            for _id, text, count in await self._store.tasks.before(task.id)
        ]
        best = sorted((one for one in alike if 2 * one[0] >= len(own)), key=lambda one: -one[0])
        return [text for _shared, text in best[:_PRIOR]]

    # --- analysis ---------------------------------------------------------------------------------

    async def _analyse(self, task: Task, step: Step, brief: Brief, known: Sequence[Evidence]) -> Outcome:
        wanted = decode(step.brief, AnalysisBrief)
        given = [one for one in known if one.marker in set(wanted.passages)]
        context, tokens, kept = await worker_context(
            task, step.team, step.brief, given, self._wording.counting(), output="AnalysisReturn"
        )
        findings = await self._findings(brief, kept)
        facts = tuple(
            StatedFact(row.subject, name, fact.text, fact.sentence.evidence.marker)
            for row in findings.rows
            for name, fact in row.facts.items()
        )
        returned = AnalysisReturn(
            facts,
            findings.chosen,
            tuple(f"{plain(one.amount)} {one.unit}".strip() for one in findings.totals),
            len(findings.contradictions),
            findings.missing,
        )
        done = replace(step, returned=encode(returned), context=context, context_tokens=tokens)
        return Outcome(done, count=len(facts) or len(_sentences(findings)), code="stated")

    async def _findings(self, brief: Brief, evidence: Sequence[Evidence]) -> Findings:
        """Returns the findings from passages; the steps of a round need the same ones, so the last result is
        kept."""
        key = (brief.text, *sorted(one.id for one in evidence))
        if self._last is None or self._last[0] != key:
            self._last = key, await asyncio.to_thread(analyse, brief, evidence)
        return self._last[1]

    # --- writing ----------------------------------------------------------------------------------

    async def _write(self, task: Task, step: Step, brief: Brief, known: Sequence[Evidence]) -> Outcome:
        wanted = decode(step.brief, WritingBrief)
        count = self._wording.counting()
        findings = await self._findings(brief, known)
        given = _sentences(findings)
        prompt = opening_prompt(task.brief, _facts(findings, given))
        writer = reporting.ReportWriter()
        title = reporting.title_of(task.brief)
        writer.line(f"# {title}")
        writer.line()
        reporting.opening(writer, brief, findings)
        step = replace(step, context=prompt, context_tokens=(await count([prompt]))[0])
        reason, by_model, left_out = "none", 0, 0
        # A total, or a table of invoices, says it all: what a model adds to it can only be less exact.
        complete = bool(findings.rows) and not any(row.sentences for row in findings.rows)
        asks = bool(given) and not (findings.totals if brief.goal is Goal.SUM else complete)
        if asks and step.attempts <= _MOST_TRIES and self._wording.works:
            try:
                answer = await self._wording.ask(prompt, wanted.most_tokens)
            except ModelsError:
                reason = "failed"
            else:
                step = replace(
                    step, context_tokens=answer.prompt_tokens, tokens=answer.tokens, model_ms=answer.ms
                )
                subjects = [row.subject for row in findings.rows]
                told = await checked(answer.text, given, complete=answer.stopped, subjects=subjects)
                reason = "used" if told.told else "unsupported"
                by_model, left_out = len(told.told), told.left_out
                if told.told:
                    writer.sentences(
                        [
                            (text, " ".join(dict.fromkeys(map(writer.cite, rests))))
                            for text, rests in told.told
                        ]
                    )
        reporting.body(writer, brief, findings)
        if brief.goal is Goal.SUM or findings.missing or findings.unspoken:
            reporting.foreign(writer, _foreign(task))
        if task.report is not None and task.guidance and writer.cites(task.report.citations):
            before = understood(replace(task, guidance=task.guidance[:-1]))
            # To leave something out needs no new passage.
            if {*before.attributes, *before.subjects} <= {*brief.attributes, *brief.subjects}:
                reporting.unchanged(writer, task.guidance[-1].text)
        reporting.footer(writer, reason, self._now())
        report = writer.report(title)
        returned = WritingReturn(len(report.text), by_model, left_out, reason)
        done = replace(step, returned=encode(returned))
        return Outcome(done, report=report, count=len(report.citations), code="written")

    # --- rating -----------------------------------------------------------------------------------

    async def _rate(self, task: Task, step: Step, brief: Brief) -> Outcome:
        """Checks each citation against its source as stored now, letter by letter."""
        report = task.report
        if report is None:
            done = replace(step, returned=encode(RatingReturn(0, 0, (task.brief,), format=False)))
            return Outcome(done, code="rated")
        checked_ = [await self._true(one) for one in report.citations]
        report = replace(report, citations=tuple(checked_))
        verified = sum(one.verified for one in checked_)
        missing = await self._missing(task, brief)
        tidy = report.text.startswith("# ") and bool(report.citations)
        lines = [f"[{one.marker}] {one.quote}" for one in checked_]
        context, tokens = await self._shortened("\n".join([step.brief, report.text, *lines]))
        step = replace(step, context=context, context_tokens=tokens)
        step, action = await self._judged(task, step, report)
        returned = RatingReturn(
            len(checked_), verified, missing, len(report.unsupported), format=tidy, judgement=action
        )
        return Outcome(replace(step, returned=encode(returned)), report=report, count=verified, code="rated")

    async def _missing(self, task: Task, brief: Brief) -> tuple[str, ...]:
        evidence = await self._store.tasks.evidence(task.id)
        return (await self._findings(brief, evidence)).missing

    async def _true(self, one: TaskCitation) -> TaskCitation:
        """Returns a citation, and whether its quotation is at its place in the source."""
        text: str | None
        if one.kind is EvidenceKind.MEMORY:
            found = await self._store.memories.get_many([one.source])
            text = found[0].text if found else None
        elif one.kind is EvidenceKind.MESSAGE:
            variants = await self._store.variants(one.source)
            text = next((own.content for own in variants if own.id == one.source), None)
        else:
            text = await self._store.documents.text(one.source)
        return replace(one, verified=text is not None and text[one.begin : one.end] == one.quote)

    async def _judged(self, task: Task, step: Step, report: Report) -> tuple[Step, str]:
        """Asks a large model whether the report answers the task; a small one is not asked."""
        try:
            if step.attempts > _MOST_TRIES or await self._wording.parameters() < LEAST_TO_JUDGE:
                return step, ""
            summary = await self._summary(task)
            context = supervisor_context(task, summary, await self._prior(task), ("approve", "revise"))
            prompt, tokens = await self._shortened(judging_prompt(context, report.text))
            answer = await self._wording.ask(prompt, 160, grammar=JUDGING_GRAMMAR)
        except ModelsError:
            return step, ""
        judged = replace(
            step, context=prompt, context_tokens=tokens, tokens=answer.tokens, model_ms=answer.ms
        )
        return judged, judgement(answer.text)

    async def _summary(self, task: Task) -> str:
        if task.session is None:
            return ""
        summaries = await self._store.context.summaries(task.session)
        return " ".join(one.text for one in summaries[-2:])

    async def _shortened(self, text: str) -> tuple[str, int]:
        """Returns a text that fits into a worker's context, and its tokens."""
        count = self._wording.counting()
        tokens = (await count([text]))[0]
        while tokens > MOST_CONTEXT:
            text = text[: int(len(text) * 0.95 * MOST_CONTEXT / tokens)]
            tokens = (await count([text]))[0]
        return text, tokens

    # --- comparison -------------------------------------------------------------------------------

    async def baseline(self, task: Task) -> Baseline:
        """Answers the brief in one context, as a chat would, from the best passages."""
        began = time.perf_counter()
        wanted = ResearchBrief((Query(task.brief, own=True),), task.documents)
        found = await self._research.find(task, "", understood(task), wanted, ())
        passages = [" ".join(one.text.split()) for one in found.evidence[:_BASELINE_PASSAGES]]
        prompt = "\n".join([*(f"[{at}] {text}" for at, text in enumerate(passages, 1)), "", task.brief])
        prompt, tokens = await self._shortened(prompt)
        try:
            answer = await self._wording.ask(prompt, task.max_tokens or _BASELINE_TOKENS)
        except ModelsError:
            return Baseline("", tokens, 0, time.perf_counter() - began)
        return Baseline(answer.text, answer.prompt_tokens, answer.tokens, time.perf_counter() - began)


def _foreign(task: Task) -> int:
    """Returns how many documents in another language the last research has passed over."""
    done = [one for one in task.steps if one.team is Team.RESEARCH and one.returned not in ("", EMPTIED)]
    return decode(done[-1].returned, ResearchReturn).foreign if done else 0


def _sentences(findings: Findings) -> list[Sentence]:
    """Returns the sentences that support the findings, the most informative first, each once."""
    found: list[Sentence] = [fact.sentence for row in findings.rows for fact in row.facts.values()]
    found += [one.wish for one in findings.verdicts if one.wish is not None]
    found += [fact.sentence for total in findings.totals for fact in total.facts]
    found += [item for pair in findings.contradictions for item in pair]
    found += [item for _value, item in findings.dated]
    found += [*findings.duties, *(wish.sentence for wish in findings.wishes), *findings.points]
    return list({(one.evidence.source, *one.whole): one for one in found}.values())


def _facts(findings: Findings, given: Sequence[Sentence]) -> list[str]:
    """Returns the facts for the model: the computed results, then the sentences."""
    told: list[str] = []
    if findings.best is not None:
        told.append(_fact(findings.best))
    elif findings.chosen:
        told.append(f"Keeps to all limits: {', '.join(findings.chosen)}.")
    told += [f"Total: {plain(one.amount)} {one.unit}." for one in findings.totals]
    return told + [" ".join(one.text.split()) for one in given]


def _fact(fact: Fact) -> str:
    return f"{fact.subject}: {fact.attribute} {fact.text}."
