"""Finds out what changed in a folder: which documents are the same, moved, changed, new or missing.

Pure rules, in two steps. `compare` looks only at facts of files and says which files have to be read. `plan`
takes the hashes of these files and says what to do with each document.
"""

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from atlas_desktop.services.documents.scanning import FolderScan, ScannedFile
from memory.documents.entities import DocumentState, FileFacts


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
    """A document and the file that it is now; the path may be another than before."""

    document: KnownDocument
    file: HashedFile


@dataclass(frozen=True, slots=True)
class Comparison:
    """What facts alone tell. `to_read` are the files whose content has to be hashed."""

    scan: FolderScan
    unchanged: tuple[KnownDocument, ...]
    returned: tuple[Match, ...]
    to_read: tuple[ScannedFile, ...]
    others: tuple[KnownDocument, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, each document at most once.

    `unchanged`: nothing. `refreshed`: same path and content; store the facts, and the document is not missing
    (any more). `moved`: same content, other path. `changed`: other content, perhaps also another path; read
    it anew. `added`: new files. `missing`: documents whose file is gone now and was there before.
    `unreadable`: the path of a file that could not be read and its document, if there is one. `unknown`: the
    scan could not tell, so leave them as they are.

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
    """Says what to do with each document and each file.

    `hashes` has the files of `comparison.to_read` by their scanned path; one that is not in it could not be
    read. A document follows its file:

    1. the same content in the same inode: it was renamed, or only its time changed;
    2. the same content at the same path: it was saved again;
    3. the same content elsewhere, if at its own path there is nothing or another document now: it was moved
       to another disk, or restored. Of several copies one with the same name is preferred;
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
        """The documents at whose path there is nothing, or the file of another document."""
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
        """Sorts the matches and what is left over."""
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
