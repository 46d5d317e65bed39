"""The board of tasks: the state of each, its steps, and its report as it is written."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.error_table import task_state_text
from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.phrases import place_text, question_text, returned_text, team_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.dialogs.forms import FieldsScreen, TextEditScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.reader import ReaderScreen
from atlas_desktop.tui.documents.rows import title_text
from atlas_desktop.tui.keymap import Keymap, how_to
from atlas_desktop.tui.markdown_text import ReadingText, markdown_text
from atlas_desktop.tui.provenance.screen import WhyScreen
from atlas_desktop.tui.provenance.sources import Chosen, reasons_of
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import Covering, KeyLine, Offer, fit
from memory.errors import RoomClosed, TaskNotFound
from memory.tasks.entities import (
    ENDED,
    Evidence,
    EvidenceKind,
    NewTask,
    Step,
    StepState,
    Task,
    TaskCitation,
    TaskEvent,
    TaskState,
    Team,
)

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.documents.rows import AskAbout
    from memory.documents.entities import Document


_OPEN, _CLOSE = "\ue000", "\ue001"
"""Signs (of private use) around parts that no source supports, while the report is parsed."""
_MARKS = {
    TaskState.RUNNING: "▸",
    TaskState.PLANNED: "▸",
    TaskState.WAITING: "?",
    TaskState.DONE: "✓",
    TaskState.PAUSED: "‖",
    TaskState.FAILED: "!",
    TaskState.CANCELLED: "–",
}
_UNDER_WAY = frozenset({TaskState.PLANNED, TaskState.RUNNING})


def task_row(task: Task, width: int) -> Content:
    """Returns a task on two lines: its brief and its progress."""
    state = task_state_text(task.state)
    steps = ngettext("{count} step", "{count} steps", len(task.steps))
    return Content.assemble(
        (_cut(f"{_MARKS[task.state]} {clean_line(task.brief)}", width), ""),
        "\n",
        (_cut(f"  {state} · {steps}", width), "$quiet"),
    )


def step_row(step: Step, said: str, width: int) -> Content:
    """Returns a step on a line: number, team, result, and its tokens."""
    running = step.state is StepState.RUNNING
    outcome = _("in progress …") if running else said
    tokens = "" if running else ngettext("{count} token", "{count} tokens", step.context_tokens)
    left = f"{step.number:>2}  {team_text(step.team):<11} {outcome}"
    room = max(width - cell_len(tokens) - 1, 10)
    return Content.assemble(
        (set_cell_size(_cut(left, room), room), "bold" if running else ""), (f" {tokens}", "$quiet")
    )


def outcomes(events: Sequence[TaskEvent]) -> dict[str, str]:
    """Returns the outcome of each step as text, by its id."""
    return {
        one.step: returned_text(one.code, one.count) for one in events if one.step and one.code != "assigned"
    }


def about_text(task: Task, keymap: Keymap) -> Content:
    """Returns a task's brief, the user's additions, its question with the key that answers it, and the tokens
    and time it took."""
    parts: list[str | tuple[str, str]] = [(clean(task.brief), "bold")]
    parts += [(f"\n→ {clean_line(one.text)}", "") for one in task.guidance]
    if asked := question_text(task):
        answer, approve = how_to("tasks.steer", keymap), how_to("tasks.approve", keymap)
        answers = (
            _("{key} answers.", key=answer)
            if task.report is None
            else _("{answer} answers, {approve} accepts the report.", answer=answer, approve=approve)
        )
        parts.append((f"\n{asked} {answers}", "$warning"))
    told = [task_state_text(task.state)]
    if task.tokens:
        told.append(ngettext("{count} token of the model", "{count} tokens of the model", task.tokens))
    if task.state not in _UNDER_WAY:
        # A step is timed when it ends.
        told.append(_("{seconds} s", seconds=formats().decimal(task.seconds)))
    if task.round:
        told.append(_("revision {round}", round=task.round))
    parts.append((f"\n{' · '.join(told)}", "$quiet"))
    return Content.assemble(*parts)


def report_text(task: Task, width: int) -> Content:
    """Returns the report so far, with the parts marked that no source supports."""
    report = task.report
    if report is None:
        return Content("")
    text, at = "", 0
    for begin, end in report.unsupported:
        text += f"{report.text[at:begin]}{_OPEN}{report.text[begin:end]}{_CLOSE}"
        at = end
    shown = markdown_text(text + report.text[at:], width)
    while (begin := shown.plain.find(_OPEN)) >= 0 and (end := shown.plain.find(_CLOSE, begin)) > 0:
        doubted = shown[begin + 1 : end].stylize("underline $warning")
        shown = Content.assemble(shown[:begin], doubted, shown[end + 1 :])
    if task.baseline is not None:
        answered = (f"\n\n{_('In a single context, the model answered:')}\n\n", "bold")
        shown = Content.assemble(shown, answered, markdown_text(task.baseline.text, width))
    return shown


def step_text(step: Step, evidence: Sequence[Evidence]) -> Content:
    """Returns everything of a step: its brief, its exact context, its return, and its evidence."""
    parts: list[str | tuple[str, str]] = []
    for title, text in (
        (_("Brief"), _pretty(step.brief)),
        (
            ngettext("Context, {count} token", "Context, {count} tokens", step.context_tokens),
            step.context
            or (_("nothing yet") if step.state is StepState.RUNNING else _("nothing is left of it")),
        ),
        (_("Return"), _pretty(step.returned)),
    ):
        parts += [(f"{title}\n", "bold"), f"{clean(text)}\n\n"]
    found = [one for one in evidence if one.step == step.id]
    if found:
        parts.append((f"{_('Evidence')}\n", "bold"))
        parts += [f"[{one.marker}] {clean_line(one.title)}: {clean_line(one.text)}\n" for one in found]
    return Content.assemble(*parts)


def source_choice(citation: TaskCitation, number: int) -> Choice:
    """Returns a row for a citation of a report: its number, its source, and the quotation. `number` is its
    place in the list."""
    name = clean_line(citation.title) or _("Untitled")
    if citation.kind is EvidenceKind.MEMORY:
        name = _("a memory")
    elif citation.lines is not None:
        name = f"{name}, {place_text(citation.page, citation.lines)}"
    mark = "" if citation.verified else "✗"
    return Choice(str(number), f"[{citation.marker}]{mark} {name}", citation.quote)


def teams_of(text: str) -> tuple[Team, ...]:
    """Returns the teams that a text names, in any language's words; all if it names none."""
    words = _words(text)
    found = tuple(team for team in Team if {team.value, team_text(team).casefold()} & words)
    return found or tuple(Team)


def teams_problem(text: str) -> str:
    """Returns what is wrong with a text that names teams, or nothing."""
    known = {name for team in Team for name in (team.value, team_text(team).casefold())}
    if _words(text) <= known:
        return ""
    return _("The teams are: {names}.", names=", ".join(map(team_text, Team)))


def _words(text: str) -> set[str]:
    return {word.strip().casefold() for word in text.split(",")} - {""}


class DocumentNames:
    """The readable documents of a room by name, and how a text names several of them, with commas between.

    A document is named by its title, and by its file's name too if several have the same title. It is found
    by the name of its file as well.
    """

    def __init__(self, documents: Sequence["Document"]) -> None:
        titles = Counter(title_text(one) for one in documents)
        self._ids: dict[str, list[str]] = {}
        self._files: dict[str, str] = {}
        for one in documents:
            title = title_text(one)
            file = clean_line(Path(one.path).name)
            name = title if titles[title] == 1 or not file else f"{title} ({file})"
            self._ids.setdefault(name, []).append(one.id)
            self._files[name] = file.casefold()

    def _fits(self, part: str, name: str) -> bool:
        return part in name.casefold() or part in self._files[name]

    def offers(self, typed: str) -> list[Offer]:
        """Returns the names that what is typed last can become; those that begin with it come first."""
        known, rest = self._split(typed)
        if known and not rest and not typed.rstrip().endswith(","):
            return []
        part = rest.casefold()
        fit = [name for name in self._ids if name not in known and self._fits(part, name)]
        fit.sort(key=lambda name: (not name.casefold().startswith(part), name.casefold()))
        return [Offer(", ".join([*known, name]), name) for name in fit]

    def problem(self, typed: str) -> str:
        """Returns what is wrong with a text, or nothing."""
        return self.chosen(typed)[1]

    def chosen(self, typed: str) -> tuple[tuple[str, ...], str]:
        """Returns the ids of the named documents, and what is wrong; a part of a name that fits only one is
        enough."""
        ids: list[str] = []
        rest = typed
        while True:
            known, rest = self._split(rest)
            ids += [one for name in known for one in self._ids[name]]
            word, _comma, rest = rest.partition(",")
            word = word.strip()
            if not word:
                return tuple(ids), ""
            fit = [name for name in self._ids if self._fits(word.casefold(), name) or word in self._ids[name]]
            exact = [name for name in fit if self._files[name] == word.casefold()]
            fit = exact if len(exact) == 1 else fit
            if len(fit) != 1:
                none = _("There is no document called “{name}”.", name=clean_line(word))
                several = _(
                    "Several documents match “{name}”. Write more of the title.", name=clean_line(word)
                )
                return (), several if fit else none
            ids += self._ids[fit[0]]

    def _split(self, typed: str) -> tuple[list[str], str]:
        """Returns the names that a text begins with, and the rest of it."""
        known: list[str] = []
        rest = typed.strip(" ,")
        while rest:
            begun = [
                name
                for name in self._ids
                if rest.casefold().startswith(name.casefold()) and rest[len(name) :].lstrip()[:1] in ("", ",")
            ]
            if not begun:
                break
            known.append(max(begun, key=len))
            rest = rest[len(known[-1]) :].strip(" ,")
        return known, rest


def _pretty(text: str) -> str:
    """Returns JSON as lines of names and values, without what is empty."""
    return "\n".join(_lines(json.loads(text))) if text else "–"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, one in value.items():
            name = str(key).replace("_", " ")
            if isinstance(one, dict | list) and one:
                yield f"{name}:"
                yield from (f"  {line}" for line in _lines(one))
            elif one not in (None, "", [], {}, False):
                yield f"{name}: {_('yes') if one is True else one}"
    elif isinstance(value, list):
        for one in value:
            for at, line in enumerate(_lines(one)):
                yield f"{'  ' if at else '- '}{line}"
    else:
        yield str(value)


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


class TaskList(OptionList):
    """The tasks, or the steps of one. Left and Right go from one list to the other."""

    # The keys of a list would hide those of the screen in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.tasks_open", _("Open")),
        Binding("right", "screen.tasks_steps", show=False),
        Binding("left", "screen.tasks_list", show=False),
    ]


class StepScreen(Covering, SparingScreen[None]):
    """A step in full: its brief, the exact text that it worked on, and what it returned."""

    CSS_PATH = "tasks.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", _("Back"))]
    AUTO_FOCUS = "#page"

    def __init__(self, app: "BaseApp", step: "Step", evidence: "list[Evidence]") -> None:
        super().__init__(app.size.width)
        self._step = step
        self._evidence = evidence

    def compose(self) -> ComposeResult:
        title = _("Step {number}: {team}", number=self._step.number, team=team_text(self._step.team))
        yield Static(Content(title), id="title", markup=False)
        with VerticalScroll(id="page"):
            yield ReadingText(id="text")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#text", ReadingText).show(step_text(self._step, self._evidence))

    def action_leave(self) -> None:
        self.dismiss(None)


class TasksScreen(View, SparingScreen["AskAbout | Chosen | None"]):
    """The tasks of a room. Dismissed with a question about a report, a message that one cites, or None."""

    CSS_PATH = "tasks.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.TASKS
    shown_by = "tasks"
    AUTO_FOCUS = "#tasks"
    BINDINGS = [*bindings(Where.TASKS), *bindings(Where.VIEWS, hidden=True)]  # noqa: RUF012

    def __init__(
        self,
        app: "BaseApp",
        room: "RoomServices",
        *,
        marked: str = "",
        project: str | None = None,
        session: str | None = None,
    ) -> None:
        """`marked` is the task to begin at. New tasks belong to `project`, and start in `session`."""
        super().__init__(app.size.width)
        self.atlas = app
        self._room = room
        self._wanted = marked
        self._project = project
        self._session = session
        self._found: list[Task] = []
        self._said: dict[str, str] = {}
        self._tasks = TaskList(id="tasks", markup=False)
        self._steps = TaskList(id="steps", markup=False)
        self._ending = room.tasks.listen(self._happened)

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        with Container(id="columns"):
            with Container(id="left"):
                yield self._tasks
                yield Static("", id="none", markup=False)
            with Container(id="right"):
                yield Static("", id="about", markup=False)
                yield self._steps
                with VerticalScroll(id="report-box"):
                    yield ReadingText(id="report")
        yield KeyLine()

    def on_mount(self) -> None:
        fit(self, self.query_one("#columns"), self.reload)

    def on_unmount(self) -> None:
        self._ending()

    def _happened(self, _event: TaskEvent) -> None:
        if self.is_running:
            self.call_later(self.reload)

    @property
    def marked(self) -> Task | None:
        """The task under the cursor."""
        at = self._tasks.highlighted
        return None if at is None or at >= len(self._found) else self._found[at]

    # --- display ----------------------------------------------------------------------------------

    def reload(self) -> None:
        """Reads the tasks again; a newer request replaces one that is running."""
        if self in self.app.screen_stack:
            self.atlas.attempt(self._load, group="tasks", exclusive=True)

    async def _load(self) -> None:
        try:
            found = list(await self._room.tasks.list())
            chosen = self._chosen(found)
            said = {} if chosen is None else outcomes(await self._room.tasks.events(chosen.id))
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        if self.is_attached:
            self._show(found, chosen, said)

    def _chosen(self, found: list[Task]) -> Task | None:
        """Returns the task that stays under the cursor."""
        kept = self.marked
        wanted = self._wanted or (kept.id if kept is not None else "")
        return next((one for one in found if one.id == wanted), found[0] if found else None)

    def _show(self, found: list[Task], chosen: Task | None, said: dict[str, str]) -> None:
        self._found, self._said, self._wanted = found, said, ""
        width = max(self._tasks.size.width - 5, 20)
        with self.app.batch_update():
            self._tasks.clear_options()
            self._tasks.add_options([Option(task_row(one, width), id=one.id) for one in found])
            if chosen is not None:
                self._tasks.highlighted = found.index(chosen)
            for name in ("#tasks", "#steps", "#report-box", "#about"):
                self.query_one(name).display = bool(found)
            empty = self.query_one("#none", Static)
            empty.display = not found
            empty.update(
                Content(
                    _(
                        "No tasks. Press n to start one: work that takes more than one turn, such as a "
                        "comparison."
                    )
                )
            )
            active = sum(one.state in _UNDER_WAY for one in found)
            counts = [ngettext("{count} task", "{count} tasks", len(found))]
            counts += [_("{count} in progress", count=active)] if active else []
            self.query_one("#title", Static).update(Content(" · ".join([_("Tasks"), *counts])))
            self._show_details()
        self.refresh_bindings()

    def _show_details(self) -> None:
        task = self.marked
        if task is None:
            return
        at = self._steps.highlighted
        width = max(self._steps.size.width - 5, 40)
        self._steps.clear_options()
        self._steps.add_options(
            [Option(step_row(step, self._said.get(step.id, ""), width), id=step.id) for step in task.steps]
        )
        if at is not None and task.steps:
            self._steps.highlighted = min(at, len(task.steps) - 1)
        self.query_one("#about", Static).update(about_text(task, self.atlas.keys))
        self.query_one("#report", ReadingText).show(partial(report_text, task))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list is self._tasks and (task := self.marked) is not None:
            known = {step.id for step in task.steps}
            if known.isdisjoint(self._said) and known:
                self.reload()
            else:
                self._show_details()
        self.refresh_bindings()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_tasks_open()

    # --- actions ----------------------------------------------------------------------------------

    def action_tasks_open(self) -> None:
        """Opens the step under the cursor; from the list of tasks, goes to the steps."""
        if not self._steps.has_focus:
            self.action_tasks_steps()
        elif (task := self.marked) is not None and (at := self._steps.highlighted) is not None:
            self._do(partial(self._open_step, task, task.steps[at]))

    async def _open_step(self, task: Task, step: "Step") -> None:
        evidence = list(await self._room.tasks.evidence(task.id))
        self.app.push_screen(StepScreen(self.atlas, step, evidence))

    def action_tasks_steps(self) -> None:
        if self.marked is not None and self.marked.steps:
            self._steps.focus()
            self._steps.highlighted = self._steps.highlighted or 0

    def action_tasks_list(self) -> None:
        self._tasks.focus()

    def action_tasks_report(self) -> None:
        """Opens the finished report in the reader."""
        if (task := self.marked) is not None and task.report is not None and task.report.document is not None:
            reader = ReaderScreen(self.atlas, self._room, task.report.document)
            self.app.push_screen(reader, self._reader_left)

    def action_tasks_sources(self) -> None:
        """Opens a source of the report at the cited passage."""
        if (task := self.marked) is not None and task.report is not None and task.report.citations:
            self._do(partial(self._open_source, task, task.report.citations))

    async def _open_source(self, task: Task, citations: Sequence[TaskCitation]) -> None:
        if self.app.screen is not self:
            return
        rows = [source_choice(one, number) for number, one in enumerate(citations)]
        chosen = await self.app.push_screen_wait(PickScreen(_("Sources of the report"), rows))
        if chosen is None:
            return
        citation = citations[int(chosen)]
        match citation.kind:
            case EvidenceKind.MEMORY:
                reasons = await reasons_of(self._room, citation.source, self.atlas.now())
                self.app.push_screen(WhyScreen(self.atlas, reasons), self._reader_left)
            case EvidenceKind.MESSAGE:
                found = await self._room.store.variants(citation.source)
                session = next(one.session_id for one in found if one.id == citation.source)
                self.dismiss(Chosen(session, citation.source))
            case EvidenceKind.DOCUMENT | EvidenceKind.NOTE:
                self.app.push_screen(await self._reader_at(task, citation), self._reader_left)

    async def _reader_at(self, task: Task, citation: TaskCitation) -> ReaderScreen:
        document = await self._room.documents.get(citation.source)
        evidence = await self._room.tasks.evidence(task.id)
        return ReaderScreen(
            self.atlas,
            self._room,
            citation.source,
            passage=(citation.begin, citation.end),
            quote=citation.quote,
            current=any(
                one.source == citation.source
                and one.begin <= citation.begin
                and citation.end <= one.end
                and one.sha256 == document.sha256
                for one in evidence
            ),
        )

    def _reader_left(self, wanted: "AskAbout | Chosen | None") -> None:
        if wanted is not None:
            self.dismiss(wanted)

    def action_tasks_new(self) -> None:
        self._do(self._new)

    async def _new(self) -> None:
        brief, teams, sources = _("What is to be done"), _("Teams"), _("Only these documents")
        reports = await self._room.tasks.reports()
        readable = [one for one in await self._room.documents.list() if one.chunks and one.id not in reports]
        names = DocumentNames(readable)
        hint = _(
            "Name what it is about and what you want to know of it. Teams: {teams}; empty for all.",
            teams=", ".join(map(team_text, Team)),
        )
        fields = await self.atlas.push_screen_wait(
            FieldsScreen(
                _("New task"),
                [brief, teams, sources],
                hint=hint,
                placeholders={sources: _("all; ↓ and Enter choose, a comma adds another")},
                offers={sources: names.offers},
                check=lambda given: teams_problem(given[teams]) or names.problem(given[sources]),
            )
        )
        if not fields or not fields[brief].strip():
            return
        documents = names.chosen(fields[sources])[0] or None
        new = NewTask(
            fields[brief],
            project=self._project,
            session=self._session,
            documents=documents,
            teams=teams_of(fields[teams]),
        )
        task = await self._room.tasks.create(new)
        self._wanted = task.id
        await self._room.tasks.start(task.id)
        self.reload()

    def action_tasks_pause(self) -> None:
        """Pauses the task, or resumes it."""
        if (task := self.marked) is not None:
            self._do(partial(self._pause, task))

    async def _pause(self, task: Task) -> None:
        if task.state in _UNDER_WAY:
            await self._room.tasks.pause(task.id)
        else:
            await self._go_on(await self._room.tasks.resume(task.id))

    async def _go_on(self, task: Task) -> None:
        if task.state in _UNDER_WAY:
            await self._room.tasks.start(task.id)

    def action_tasks_steer(self) -> None:
        """Sends the supervisor an instruction."""
        self._ask(_("Tell the supervisor"), _("It follows this from the next step on."))

    def action_tasks_revise(self) -> None:
        """Has the report made again, with the user's instructions."""
        self._ask(_("Revise the report"), _("Say what is missing or wrong. The teams work on it again."))

    def _ask(self, title: str, hint: str) -> None:
        if (task := self.marked) is not None:
            self._do(partial(self._steer, task, title, hint))

    async def _steer(self, task: Task, title: str, hint: str) -> None:
        text = await self.atlas.push_screen_wait(TextEditScreen(title, "", hint=hint))
        if text:
            await self._go_on(await self._room.tasks.steer(task.id, text))

    def action_tasks_approve(self) -> None:
        """Accepts the report."""
        if (task := self.marked) is not None:
            self._do(lambda: self._room.tasks.approve(task.id))

    def action_tasks_cancel(self) -> None:
        if (task := self.marked) is not None:
            self._do(partial(self._cancel, task))

    async def _cancel(self, task: Task) -> None:
        if await self._sure(
            _("End this task for good?"), _("What it found stays until you delete it."), _("End it")
        ):
            await self._room.tasks.cancel(task.id)

    def action_tasks_remove(self) -> None:
        if (task := self.marked) is not None:
            self._do(partial(self._remove, task))

    async def _remove(self, task: Task) -> None:
        text = _("Its steps, what it found and its report in the library are deleted.")
        if await self._sure(_("Delete this task?"), text, _("Delete")):
            if task.state in _UNDER_WAY:
                await self._room.tasks.cancel(task.id)
            await self._room.remove_task(task.id)

    async def _sure(self, title: str, text: str, agree: str) -> bool:
        screen = ConfirmScreen(title, text, agree=agree, refuse=_("No"))
        agreed: bool | None = await self.atlas.push_screen_wait(screen)
        return agreed is True

    def _do(self, work: Callable[[], Awaitable[object]]) -> None:
        """Runs an action in the background, and shows its result."""

        async def run() -> None:
            try:
                await work()
            except TaskNotFound:
                # It was deleted meanwhile.
                self.atlas.say(_("This task no longer exists."))
            self.reload()

        self.atlas.attempt(run, group="task-action")

    def action_tasks_back(self) -> None:
        if self._steps.has_focus:
            self._tasks.focus()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        task = self.marked
        rules: dict[str, Callable[[Task], bool]] = {
            "tasks_open": lambda one: bool(one.steps),
            "tasks_pause": lambda one: one.state not in ENDED or one.state is TaskState.FAILED,
            "tasks_steer": lambda one: one.state not in ENDED,
            "tasks_revise": lambda one: (
                one.state is TaskState.DONE or (one.state is TaskState.WAITING and one.report is not None)
            ),
            "tasks_approve": lambda one: one.state is TaskState.WAITING and one.report is not None,
            "tasks_cancel": lambda one: one.state not in ENDED,
            "tasks_remove": lambda _one: True,
            "tasks_report": lambda one: one.report is not None and one.report.document is not None,
            "tasks_sources": lambda one: one.report is not None and bool(one.report.citations),
        }
        if action in rules:
            return task is not None and rules[action](task)
        return super().check_action(action, parameters)
