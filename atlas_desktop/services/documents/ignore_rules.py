"""Rules of .gitignore files: which files and folders of a tree are left out.

Pathspec matches the patterns, as git does. Here the rules of nested files become one list, and folders are
matched as such, so that a walk can skip an ignored folder without looking into it.
"""

import re
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

# Patterns become regular expressions, whose time grows with the power of the number of wildcards. With these
# limits the worst name takes milliseconds. A folder's own files may be from a stranger.
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
                # All folders, for git. Pathspec takes it as all files, too.
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
        """Whether a file is left out, whose folder is not. `path` is below the root, with slashes."""
        return self._files.match_file(path)

    def ignore_folder(self, path: str) -> bool:
        """Whether a folder is left out with all that is in it, when the folder around it is not."""
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
    # Without a slash, but for one at the end, a pattern matches at any depth, else from its own folder on.
    anchored = body.lstrip("/") if "/" in body.rstrip("/") else f"**/{body}"
    inside = f"{GitIgnoreSpecPattern.escape(folder)}/" if folder else ""
    return GitIgnoreSpecPattern(f"{'!' * negated}/{inside}{anchored}")
