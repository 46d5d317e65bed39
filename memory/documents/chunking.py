"""TEMP"""

from memory.documents.entities import NewChunk


def matched(old, new):
    free = {}
    for i, k in old:
        free.setdefault(k, []).append(i)
    return [free[k].pop(0) if free.get(k) else None for k in new]


def chunks(parsed, media_type, size=900):
    text = parsed.text
    out = []
    pos = 0
    starts = list(parsed.pages) or [0]
    for n, a in enumerate(starts):
        e = starts[n + 1] if n + 1 < len(starts) else len(text)
        i = a
        while i < e:
            j = min(e, i + size)
            if j < e:
                c = text.rfind("\n", i + 1, j)
                if c <= i:
                    c = text.rfind(" ", i + 1, j)
                if c > i:
                    j = c
            b, f = i, j
            while b < f and text[b].isspace():
                b += 1
            while f > b and text[f - 1].isspace():
                f -= 1
            if f > b:
                l1 = text.count("\n", 0, b) + 1
                l2 = l1 + text.count("\n", b, f)
                hs = [h.text for h in parsed.headings if h.begin <= b][-1:]
                out.append(NewChunk(b, f, n + 1 if parsed.pages else None, (l1, l2), tuple(hs)))
            i = j if j > i else i + 1
    return out
