"""Lists the files of a folder that can be documents, and finds the changes among them."""

import os
import re
import stat
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from atlas_desktop.services.documents.reading import CAN_WALK, MOST_BYTES, facts_of, open_file, open_folder
from memory.documents.entities import DocumentState, FileFacts

# Patterns become regular expressions, whose time grows with the power of the number of wildcards. With these
# limits the worst name takes milliseconds. A folder's own ignore files may come from a stranger.
_MOST_WILDCARDS: Final = 3
_LONGEST_PATTERN: Final = 500
_WILDCARD: Final = re.compile(r"\*+")
# Bracket expressions that mean something else in Python, such as [[:alpha:]].
_FOREIGN_BRACKETS: Final = re.compile(r"\[[^\]]*(\[|--|&&|~~|\|\|)")

_Patterns = tuple[GitIgnoreSpecPattern, ...]


class IgnoreRules:
    """The rules that apply in a folder: its own and those of the folders above. Never changed once made."""

    def __init__(self, files: _Patterns = (), folders: _Patterns = ()) -> None:
        # A pattern that ends with a slash matches folders only: for pathspec, all that is in them. Without
        # that slash it matches the folder's own path.
        self._files = GitIgnoreSpec(files)
        self._folders = GitIgnoreSpec(folders)

    def within(self, folder: str, text: str) -> "tuple[IgnoreRules, tuple[str, ...]]":
        """Adds the rules of a .gitignore file in `folder`, a path below the root, "" for the root itself.

        They override the rules so far. Returns the rules and the lines that are not usable as a pattern.
        """
        files: list[GitIgnoreSpecPattern] = []
        folders: list[GitIgnoreSpecPattern] = []
        unusable = []
        for line in text.removeprefix("\ufeff").split("\n"):
            rule = _trimmed(line)
            if not rule or rule.startswith("#") or rule == "/":
                continue
            if rule.endswith("**/"):
                # All folders, for git. Pathspec also takes it as all files.
                rule += "*/"
            try:
                file_pattern = _pattern(rule, folder)
                folder_pattern = _pattern(rule.rstrip("/"), folder)
            except (ValueError, re.error):
                unusable.append(rule)
                continue
            files.append(file_pattern)
            folders.append(folder_pattern)
        if not folders:
            return self, tuple(unusable)
        rules = IgnoreRules((*self._files.patterns, *files), (*self._folders.patterns, *folders))
        return rules, tuple(unusable)

    def ignore_file(self, path: str) -> bool:
        """Whether a file is ignored whose folder is not. `path` is below the root, with slashes."""
        return self._files.match_file(path)

    def ignore_folder(self, path: str) -> bool:
        """Whether a folder is ignored with all its contents, if its parent folder is not."""
        return self._folders.match_file(path)


def is_pattern(text: str) -> bool:
    """Whether a text is usable as a pattern: valid, and not so complicated that matching takes long."""
    try:
        _pattern(_trimmed(text), "")
    except (ValueError, re.error):
        return False
    return True


def _trimmed(line: str) -> str:
    line = line.removesuffix("\r")
    # A backslash keeps a space at the end.
    return line if line.endswith("\\ ") else line.rstrip(" \t")


def _pattern(rule: str, folder: str) -> GitIgnoreSpecPattern:
    """Returns a rule of a file in `folder` as a pattern for paths below the root.

    Raises `ValueError` or `re.error` for a rule that is not usable.
    """
    negated = rule.startswith("!")
    body = rule[negated:]
    segments = body.split("/")
    complicated = segments.count("**") > _MOST_WILDCARDS or any(
        len(_WILDCARD.findall(segment)) > _MOST_WILDCARDS for segment in segments
    )
    if not body or complicated or len(body) > _LONGEST_PATTERN or _FOREIGN_BRACKETS.search(body):
        raise ValueError("not usable as a pattern")
    # A pattern without a slash (except at the end) matches at any depth; otherwise it is relative to its own
    # folder.
    anchored = body.lstrip("/") if "/" in body.rstrip("/") else f"**/{body}"
    inside = f"{GitIgnoreSpecPattern.escape(folder)}/" if folder else ""
    return GitIgnoreSpecPattern(f"{'!' * negated}/{inside}{anchored}")


# The second overrides the first.
IGNORE_FILES: Final = (".gitignore", ".atlasignore")

_LARGEST_IGNORE_FILE: Final = 256_000
_MOST_DEPTH: Final = 100
_MOST_ENTRIES: Final = 1_000_000
_TEMPORARY_ENDS: Final = ("~", ".swp", ".swo", ".tmp", ".temp", ".bak", ".crdownload", ".part", ".download")


class SkipReason(StrEnum):
    """The reason why something in a folder is not read.

    vanished: it was gone before it could be read; unreadable: the system refuses to show it; bad_name: the
    name is not valid text; too_deep, too_many: the scan stopped there; bad_pattern: a rule in an ignore file
    or of the folder is not usable, and was not applied.
    """

    LINK = "link"
    SPECIAL = "special"
    HIDDEN = "hidden"
    TEMPORARY = "temporary"
    IGNORED = "ignored"
    UNKNOWN_FORMAT = "unknown_format"
    TOO_LARGE = "too_large"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"
    BAD_NAME = "bad_name"
    TOO_DEEP = "too_deep"
    TOO_MANY = "too_many"
    BAD_PATTERN = "bad_pattern"


# Expected in every folder, often in thousands, so only counted.
_COUNTED: Final = frozenset({SkipReason.HIDDEN, SkipReason.TEMPORARY, SkipReason.IGNORED})
# The contents are unknown, so documents from there must not count as missing.
_UNKNOWN: Final = frozenset({SkipReason.UNREADABLE, SkipReason.VANISHED, SkipReason.TOO_MANY})


@dataclass(frozen=True, slots=True)
class FolderRules:
    """Which files of a folder are read.

    `readable` decides by a file's name whether its format is known. `include` and `exclude` are patterns as
    in .gitignore files; without `include` all files are read. `exclude` cannot be overridden by a file in the
    folder. `largest` is in bytes. With `list_all`, files that are otherwise only counted are also listed.
    """

    readable: Callable[[str], bool]
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    largest: int = MOST_BYTES
    list_all: bool = False


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file that can be read. `relative` is its path below the folder, with slashes."""

    relative: str
    facts: FileFacts


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """What was skipped: a path below the folder, "" for the folder itself. May be any text: clean to show."""

    where: str
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class FolderScan:
    """What a scan found, folder by folder, each by name.

    `counts` has all reasons, `skipped` lacks those that are only counted. `unknown` are the paths of files
    and folders of which the scan cannot tell whether they are still there; "" is the whole folder. `device`
    is that of the folder, 0 if it could not be opened.
    """

    root: Path
    files: tuple[ScannedFile, ...]
    skipped: tuple[SkippedPath, ...]
    counts: Mapping[SkipReason, int]
    unknown: frozenset[str]
    device: int


def scan(root: Path, rules: FolderRules) -> FolderScan:
    """Lists the files below `root`. Raises nothing: unreadable files are skipped, with a reason.

    Follows no links below `root`, opens no files but ignore files, and skips hidden and temporary files.
    Blocks, some 15 ms per 1,000 files: call it in a thread.
    """
    return _Scanner(root.absolute(), rules).scan()


class _TooMany(Exception):
    """There are more entries than a scan looks at."""


class _Scanner:
    def __init__(self, root: Path, rules: FolderRules) -> None:
        self._root = root
        self._rules = rules
        self._files: list[ScannedFile] = []
        self._skipped: list[SkippedPath] = []
        self._counts: Counter[SkipReason] = Counter()
        self._unknown: set[str] = set()
        self._entries = 0
        self._include = GitIgnoreSpec.from_lines(filter(self._usable, rules.include))
        self._exclude, unusable = IgnoreRules().within("", "\n".join(rules.exclude))
        for pattern in unusable:
            self._skip(pattern, SkipReason.BAD_PATTERN)

    def scan(self) -> FolderScan:
        device = 0
        try:
            with _opened(self._root, None) as folder:
                device = (os.fstat(folder) if isinstance(folder, int) else folder.stat()).st_dev
                self._folder(folder, "", IgnoreRules(), 0)
        except _TooMany:
            self._skip("", SkipReason.TOO_MANY)
        except (OSError, ValueError) as error:
            # A ValueError is a null byte in the path.
            self._skip("", _reason(error))
        return FolderScan(
            self._root,
            tuple(self._files),
            tuple(self._skipped),
            dict(self._counts),
            frozenset(self._unknown),
            device,
        )

    def _usable(self, pattern: str) -> bool:
        if not is_pattern(pattern):
            self._skip(pattern, SkipReason.BAD_PATTERN)
            return False
        return True

    def _skip(self, where: str, reason: SkipReason) -> None:
        self._counts[reason] += 1
        if reason in _UNKNOWN:
            self._unknown.add(where)
        if reason not in _COUNTED or self._rules.list_all:
            self._skipped.append(SkippedPath(where, reason))

    def _folder(self, folder: int | Path, relative: str, rules: IgnoreRules, depth: int) -> None:
        """Lists an open folder. Raises `OSError` if it cannot be listed, and `_TooMany`."""
        with os.scandir(folder) as listing:
            entries = []
            for entry in listing:
                self._entries += 1
                if self._entries > _MOST_ENTRIES:
                    raise _TooMany
                entries.append(entry)
        present = {entry.name for entry in entries}
        for name in IGNORE_FILES:
            if name in present:
                rules = self._with_rules_of(name, folder, relative, rules)
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = f"{relative}/{entry.name}" if relative else entry.name
            try:
                self._entry(entry, folder, path, rules, depth)
            except OSError as error:
                self._skip(path, _reason(error))

    def _with_rules_of(self, name: str, folder: int | Path, relative: str, rules: IgnoreRules) -> IgnoreRules:
        path = f"{relative}/{name}" if relative else name
        try:
            descriptor = open_file(*_at(folder, name))
        except OSError:
            # Not unknown, because no document comes from it; but its rules are not applied.
            self._skip(path, SkipReason.BAD_PATTERN)
            return rules
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(_LARGEST_IGNORE_FILE + 1)
        if len(content) > _LARGEST_IGNORE_FILE:
            self._skip(path, SkipReason.TOO_LARGE)
            return rules
        rules, unusable = rules.within(relative, content.decode("utf-8", "replace"))
        for _line in unusable:
            self._skip(path, SkipReason.BAD_PATTERN)
        return rules

    def _entry(
        self, entry: os.DirEntry[str], folder: int | Path, path: str, rules: IgnoreRules, depth: int
    ) -> None:
        reason = _reason_by_name(entry.name) or _reason_by_kind(entry)
        if reason is not None:
            self._skip(_printable(path) if reason is SkipReason.BAD_NAME else path, reason)
        elif not entry.is_dir(follow_symlinks=False):
            self._file(entry, path, rules)
        elif self._exclude.ignore_folder(path) or rules.ignore_folder(path):
            self._skip(path, SkipReason.IGNORED)
        elif depth == _MOST_DEPTH:
            self._skip(path, SkipReason.TOO_DEEP)
        else:
            with _opened(*_at(folder, entry.name)) as inner:
                self._folder(inner, path, rules, depth + 1)

    def _file(self, entry: os.DirEntry[str], path: str, rules: IgnoreRules) -> None:
        included = not self._rules.include or self._include.match_file(path)
        if not included or self._exclude.ignore_file(path) or rules.ignore_file(path):
            return self._skip(path, SkipReason.IGNORED)
        if not self._rules.readable(entry.name):
            return self._skip(path, SkipReason.UNKNOWN_FORMAT)
        state = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(state.st_mode):
            # Something else has taken its place since the folder was listed.
            self._skip(path, SkipReason.VANISHED)
        elif state.st_size > self._rules.largest:
            self._skip(path, SkipReason.TOO_LARGE)
        else:
            self._files.append(ScannedFile(path, facts_of(str(self._root / path), state)))
        return None


def _at(folder: int | Path, name: str) -> tuple[str | Path, int | None]:
    """How to open something in a folder: by its open descriptor, or by path if the system does not support
    that."""
    return (name, folder) if isinstance(folder, int) else (folder / name, None)


@contextmanager
def _opened(name: str | Path, parent: int | None) -> Iterator[int | Path]:
    """Opens a folder for `os.scandir`. Only the root, which has no parent, may be a link."""
    if not CAN_WALK:
        yield Path(name)
        return
    descriptor = open_folder(name, parent, follow=parent is None)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> SkipReason:
    gone = isinstance(error, FileNotFoundError | NotADirectoryError)
    return SkipReason.VANISHED if gone else SkipReason.UNREADABLE


def _reason_by_name(name: str) -> SkipReason | None:
    try:
        name.encode()
    except UnicodeEncodeError:
        return SkipReason.BAD_NAME
    if name.startswith("."):
        return SkipReason.HIDDEN
    if name.startswith("~$") or name.lower().endswith(_TEMPORARY_ENDS):
        return SkipReason.TEMPORARY
    return None


def _reason_by_kind(entry: os.DirEntry[str]) -> SkipReason | None:
    # Before Python 3.12 a junction, a link of Windows, looks like a folder.
    if entry.is_symlink() or (hasattr(entry, "is_junction") and entry.is_junction()):
        return SkipReason.LINK
    if entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False):
        return None
    return SkipReason.SPECIAL


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class KnownDocument:
    """A document of the folder as it is stored. `sha256` is hex, empty if its file was never read."""

    id: str
    facts: FileFacts
    sha256: str
    state: DocumentState = DocumentState.INDEXED

    @property
    def gone(self) -> bool:
        """Whether its file was missing before."""
        return self.state in {DocumentState.MISSING, DocumentState.ARCHIVED}


@dataclass(frozen=True, slots=True)
class HashedFile:
    """A file that was read: its facts at that time, and SHA-256 as hex."""

    facts: FileFacts
    sha256: str


@dataclass(frozen=True, slots=True)
class Match:
    """A document and its current file; the path may have changed."""

    document: KnownDocument
    file: HashedFile


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing facts alone. `to_read` are the files whose content has to be hashed."""

    scan: FolderScan
    unchanged: tuple[KnownDocument, ...]
    returned: tuple[Match, ...]
    to_read: tuple[ScannedFile, ...]
    others: tuple[KnownDocument, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The actions; each document occurs at most once.

    `unchanged`: nothing. `refreshed`: same path and content; store the facts, and the document is no longer
    missing. `moved`: same content, other path. `changed`: other content, perhaps also another path; read it
    anew. `added`: new files. `missing`: documents whose file is gone now and was there before. `unreadable`:
    the path of a file that could not be read and its document, if there is one. `unknown`: the scan could not
    tell, so do not change them.

    Documents can exchange their paths: apply all new paths in one transaction.
    """

    unchanged: tuple[KnownDocument, ...] = ()
    refreshed: tuple[Match, ...] = ()
    moved: tuple[Match, ...] = ()
    changed: tuple[Match, ...] = ()
    added: tuple[HashedFile, ...] = ()
    missing: tuple[KnownDocument, ...] = ()
    unreadable: tuple[tuple[ScannedFile, KnownDocument | None], ...] = ()
    unknown: tuple[KnownDocument, ...] = ()


def compare(
    known: Iterable[KnownDocument], scan: FolderScan, touched: Collection[str] = frozenset()
) -> Comparison:
    """Compares the documents of a folder with a scan of it, by path, size, time and inode.

    `touched` are absolute paths of files that are read in any case: a change within the resolution of file
    times, of equal size, cannot be seen from outside.
    """
    # A document can have the path of one that went missing there before.
    documents = sorted(known, key=lambda document: (document.gone, document.facts.path, document.id))
    by_path = _owners(documents)
    unchanged, returned, to_read = [], [], []
    settled = set()
    for file in scan.files:
        document = by_path.get(file.facts.path)
        if (
            document is None
            or not document.sha256
            or file.facts.path in touched
            or not _same(document.facts, file.facts)
        ):
            to_read.append(file)
            continue
        settled.add(document.id)
        if document.gone:
            returned.append(Match(document, HashedFile(file.facts, document.sha256)))
        else:
            unchanged.append(document)
    others = tuple(document for document in documents if document.id not in settled)
    return Comparison(scan, tuple(unchanged), tuple(returned), tuple(to_read), others)


def plan(comparison: Comparison, hashes: Mapping[str, HashedFile]) -> Plan:
    """Decides what to do with each document and each file.

    `hashes` has the files of `comparison.to_read` by their scanned path; one that is not in it could not be
    read. A document follows its file:

    1. the same content in the same inode: it was renamed, or only its time changed;
    2. the same content at the same path: it was saved again;
    3. the same content elsewhere, if its own path is now empty or belongs to another document: it was moved
       to another disk, or restored. of several copies, one with the same name is preferred;
    4. the same inode elsewhere, under the same conditions and if its type did not change: it was renamed and
       edited;
    5. the same path: it was edited.
    """
    matcher = _Matcher(comparison, hashes)
    matcher.pair(_inode_and_content, matcher.documents, matcher.files)
    owned = matcher.owned
    matcher.pair(lambda part: (part.facts.path, part.sha256), owned, matcher.files)
    matcher.pair(lambda part: part.sha256 or None, matcher.homeless, matcher.free)
    matcher.pair(
        _inode_and_type,
        lambda: [document for document in matcher.homeless() if not document.gone],
        matcher.free,
    )
    matcher.pair(lambda part: part.facts.path, owned, matcher.files)
    return matcher.plan()


_Part = KnownDocument | HashedFile


def _inode_and_content(part: _Part) -> Hashable:
    # Without the device: its number can change whenever a disk is mounted.
    return (part.sha256, part.facts.inode) if part.sha256 and part.facts.inode else None


def _inode_and_type(part: _Part) -> Hashable:
    # A file system gives the inode of a deleted file to a new one, so content in another inode proves more.
    # The type keeps most unrelated files apart.
    facts = part.facts
    return (facts.device, facts.inode, PurePath(facts.path).suffix.lower()) if facts.inode else None


def _same(before: FileFacts, now: FileFacts) -> bool:
    inode = before.inode == now.inode or not (before.inode and now.inode)
    return inode and (before.size, before.modified_ns) == (now.size, now.modified_ns)


def _owners(documents: Iterable[KnownDocument]) -> dict[str, KnownDocument]:
    """The document at each path: the first one."""
    owners: dict[str, KnownDocument] = {}
    for document in documents:
        owners.setdefault(document.facts.path, document)
    return owners


@dataclass
class _Matcher:
    comparison: Comparison
    hashes: Mapping[str, HashedFile]
    matches: list[Match] = field(default_factory=list)

    def __post_init__(self) -> None:
        read = self.comparison.to_read
        self._documents = {document.id: document for document in self.comparison.others}
        self._files: dict[str, HashedFile] = {}
        self._unreadable: dict[str, ScannedFile] = {}
        for file in read:
            path = file.facts.path
            if path in self.hashes:
                self._files[path] = self.hashes[path]
            else:
                self._unreadable[path] = file
        self._owners = _owners(self.comparison.others)
        self._unknown = _unknown(self.comparison)

    def documents(self) -> list[KnownDocument]:
        """The documents without a file so far."""
        return list(self._documents.values())

    def files(self) -> list[HashedFile]:
        """The files without a document so far."""
        return list(self._files.values())

    def owned(self) -> list[KnownDocument]:
        """The documents that may be the file at their path."""
        return [document for document in self.documents() if self._owners[document.facts.path] is document]

    def homeless(self) -> list[KnownDocument]:
        """The documents whose path is empty or has the file of another document."""
        at_home = {document.id for document in self.owned() if self._has_file(document)}
        return [document for document in self.documents() if document.id not in at_home]

    def _has_file(self, document: KnownDocument) -> bool:
        path = document.facts.path
        return path in self._files or path in self._unreadable or self._unknown(document)

    def free(self) -> list[HashedFile]:
        """The files at whose path there is no document that is still without a file."""
        taken = {document.facts.path for document in self.owned()}
        return [file for file in self.files() if file.facts.path not in taken]

    def pair(
        self,
        key: Callable[[_Part], Hashable],
        documents: Callable[[], list[KnownDocument]],
        files: Callable[[], list[HashedFile]],
    ) -> None:
        """Pairs documents and files with an equal key other than None: first by path, then by name."""
        wanted, offered = documents(), files()
        for close in (_path, _name, _any):
            waiting: dict[Hashable, deque[KnownDocument]] = defaultdict(deque)
            for document in wanted:
                if document.id in self._documents and (value := key(document)) is not None:
                    waiting[value, close(document)].append(document)
            for file in offered:
                if file.facts.path in self._files and (same := waiting.get((key(file), close(file)))):
                    found = same.popleft()
                    del self._documents[found.id]
                    del self._files[file.facts.path]
                    self.matches.append(Match(found, file))

    def plan(self) -> Plan:
        """Sorts the matches and the rest."""
        refreshed, moved, changed = list(self.comparison.returned), [], []
        for match in sorted(self.matches, key=lambda match: match.file.facts.path):
            if match.document.sha256 != match.file.sha256:
                changed.append(match)
            elif match.document.facts.path != match.file.facts.path:
                moved.append(match)
            else:
                refreshed.append(match)
        unreadable = []
        for path, file in self._unreadable.items():
            owner = self._owners.get(path)
            unreadable.append((file, self._documents.pop(owner.id, None) if owner else None))
        left = [document for document in self._documents.values() if not document.gone]
        return Plan(
            unchanged=self.comparison.unchanged,
            refreshed=tuple(refreshed),
            moved=tuple(moved),
            changed=tuple(changed),
            added=tuple(self._files.values()),
            missing=tuple(document for document in left if not self._unknown(document)),
            unreadable=tuple(unreadable),
            unknown=tuple(document for document in left if self._unknown(document)),
        )


def _path(part: _Part) -> str:
    return part.facts.path


def _name(part: _Part) -> str:
    return PurePath(part.facts.path).name


def _any(_part: _Part) -> str:
    return ""


def _unknown(comparison: Comparison) -> Callable[[KnownDocument], bool]:
    """Returns whether the scan cannot tell if a document's file is still there."""
    scan = comparison.scan
    documents = (*comparison.unchanged, *comparison.others)
    devices = {document.facts.device for document in documents if not document.gone}
    # An empty folder on another disk than its documents: their disk is not mounted.
    unmounted = not scan.files and bool(devices) and not devices & {0, scan.device}
    if unmounted or "" in scan.unknown:
        return lambda _document: True
    unknown = {scan.root / path for path in scan.unknown}

    def is_unknown(document: KnownDocument) -> bool:
        path = PurePath(document.facts.path)
        return bool(unknown) and not unknown.isdisjoint((path, *path.parents))

    return is_unknown
