"""Which stored chunks a new version of a document keeps."""

from bisect import bisect_right
from collections.abc import Sequence


def matched(old: Sequence[tuple[str, str]], new: Sequence[str]) -> list[str | None]:
    """Returns the stored id that each new chunk keeps, or None where it is new.

    `old` are the stored chunks, each with its id and the key of its text, in order; `new` are the keys of the
    new chunks in order. A stored chunk is kept at most once, and as many as possible are kept. Of several
    with one key, the next in the order of the document is preferred.
    """
    begin = 0
    while begin < min(len(old), len(new)) and old[begin][1] == new[begin]:
        begin += 1
    end = 0
    while end < min(len(old), len(new)) - begin and old[-1 - end][1] == new[-1 - end]:
        end += 1
    kept: list[str | None] = [id_ for id_, _ in old[:begin]]
    unused: dict[str, list[int]] = {}
    for place in range(begin, len(old) - end):
        unused.setdefault(old[place][1], []).append(place)
    last = -1
    for key in new[begin : len(new) - end]:
        places = unused.get(key)
        if not places:
            kept.append(None)
            continue
        at = bisect_right(places, last)
        last = places.pop(at if at < len(places) else 0)
        kept.append(old[last][0])
    return kept + [id_ for id_, _ in old[len(old) - end :]]
