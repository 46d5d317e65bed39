"""Finds what is worth remembering in a message of the user, by patterns alone, with its evidence."""

import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, partial
from importlib.resources import files

from memory.clock import LocalZone
from memory.learning.entities import (
    Candidate,
    Correction,
    Utterance,
    content,
    denies,
    found,
    normal,
    supported,
)
from memory.learning.statement_filter import (
    LONGEST,
    LONGEST_SENTENCE,
    Block,
    PatternMatch,
    Sentence,
    asks,
    blocks,
    length,
    lists,
    piece,
    plain,
    reading,
    sentences,
    tells_date,
    vague,
)
from memory.memories.entities import ONESELF, MemoryKind, MemoryOrigin
from memory.recall.moments import spans
from memory.summaries.evidence import importance
from memory.summaries.languages import lexicon
from models.messages import Role

_LONGEST_CODE = 2_000
_LONGEST_PROCEDURE = 900
_LEAST_WORDS = 2
_LONGEST_CORRECTION = 240
_LONGEST_WRONG = 5
_FORGOTTEN_BY = 2
"""Words by which something is forgotten: with more, what says it otherwise is not found."""
_SORRY = re.compile(
    r"^(?:(?:sorry|oops|oh|wait|hang on|hm+|no|nope|no,? wait|correction|scratch that|my (?:mistake|bad)"
    r"|(?:i (?:got|had)|i[’']ve got) (?:that|it) wrong|that (?:was|is) wrong|that[’']s wrong|i misspoke"
    r"|entschuldigung|verzeihung|nein|halt|quatsch|moment|(?:das )?stimmt nicht"
    r"|ich habe mich (?:geirrt|vertan)|perdón|perdona|me equivoqué|me he equivocado)[,:;.!…–—-]+ *)+",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:an?|the|eine?[nmr]?|der|die|das|une?|la|el|los|las|unas?) ", re.IGNORECASE)
_WHOSE_NAME = re.compile(r"(?:his|her|its|their) name(?: is|[’']s)\Z", re.IGNORECASE)
_OF_ANOTHER = re.compile(
    r" (?:and|und|y|et) (?=(?:my|our|meine?|unsere?|mis?|nuestr[oa]s?|mon|ma|mes|notre|nos) [^,;.]{1,40}? "
    r"(?:is|are|was|were|has|have|had|ends?|starts?|begins?|lives?|works?|costs?|takes?|likes?|loves?|hates?"
    r"|plays?|ist|sind|war|hat|haben|heißt|kostet|beginnt|endet|lebt|wohnt|arbeitet|es|son|tiene|vive|cuesta"
    r"|est|sont)\b)",
    re.IGNORECASE,
)
"""Where a statement about something else of the user's may begin: "… and my favourite colour is green"."""
_RELATIVE = re.compile(r",? (?:that|which|who|whom|where) .*$", re.IGNORECASE)
_AMOUNT = re.compile(r"(?<!\w)\d+(?:[.,:]\d+)*(?!\w)")


@dataclass(frozen=True, slots=True)
class Forms:
    """The phrase patterns, by what they recognise."""

    remember: tuple[re.Pattern[str], ...]
    not_remembered: tuple[re.Pattern[str], ...]
    procedure: tuple[re.Pattern[str], ...]
    steps: tuple[re.Pattern[str], ...]
    code: tuple[re.Pattern[str], ...]
    not_code: tuple[re.Pattern[str], ...]
    question: tuple[re.Pattern[str], ...]
    correction: tuple[re.Pattern[str], ...]
    forget: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What it is about (empty if that is not stated), and the text that states it."""

    about: str = field(repr=False)
    words: str = field(repr=False)


@cache
def forms() -> Forms:
    found = tomllib.loads((files(__package__) / "forms.toml").read_text("utf-8"))
    flags = re.IGNORECASE | re.DOTALL
    return Forms(**{name: tuple(re.compile(one, flags) for one in ones) for name, ones in found.items()})


def to_remember(sentence: str) -> str | None:
    """Returns what a sentence asks Atlas to remember, verbatim."""
    bare = sentence.strip().rstrip(" .!")
    if len(bare) > LONGEST_SENTENCE or asks(bare):
        return None
    for pattern in forms().remember:
        match = pattern.fullmatch(bare)
        if match is None:
            continue
        wish = match["v"].strip(" ,:;")
        if length(wish) >= _LEAST_WORDS and not any(no.match(wish) for no in forms().not_remembered):
            return wish
    return None


def to_forget(sentence: str) -> str | None:
    """Returns what a sentence asks Atlas to forget, verbatim."""
    bare = sentence.strip().rstrip(" .!")
    if len(bare) > LONGEST_SENTENCE:
        return None
    match = next((match for one in forms().forget if (match := one.fullmatch(bare))), None)
    return match["v"].strip(" ,:;?") if match is not None and content(match["v"]) else None


def procedure(text: str) -> Told | None:
    """Returns how the user does something, if `text` (a sentence, or a line with its list) describes it."""
    if len(text) > LONGEST_SENTENCE:
        return None
    words = plain(text)
    if asks(words) or len(words) > _LONGEST_PROCEDURE or not _has_steps(words):
        return None
    for pattern in forms().procedure:
        match = pattern.match(words)
        if match is not None:
            about = match.groupdict().get("s") or re.split(r"[:,]", words, maxsplit=1)[0]
            return Told(about.strip(), words)
    return None


def code(block: Block) -> Told | None:
    """Returns code that the user wants to keep, if the line before it states its purpose."""
    if not block.code or len(block.whole) > _LONGEST_CODE or asks(block.intro):
        return None
    intro = plain(block.intro.rstrip(": "))
    if any(no.search(intro) for no in forms().not_code):
        return None
    for pattern in forms().code:
        match = pattern.match(intro)
        if match is not None:
            about = (match["p"] or "").strip(" :.,")
            return Told(re.sub(r"\s+(?:is|are)$", "", about), block.whole)
    return None


def open_question(clause: str) -> Told | None:
    """Returns what the user has not decided, or does not know yet."""
    if len(clause) > LONGEST_SENTENCE:
        return None
    words = plain(clause)
    if asks(words):
        return None
    for pattern in forms().question:
        match = pattern.match(words.rstrip(" .!…"))
        if match is not None:
            about = re.sub(r"^(?:about|on|over|as to|with|what happens with)\s+", "", match["v"].strip())
            return Told(about.strip(" .,"), words)
    return None


def correction(sentence: str, before: str = "") -> Correction | None:
    """Returns what a sentence corrects, if it says what is right and what is not; `before` is the reply that
    it answers."""
    told = plain(_SORRY.sub("", sentence.strip().rstrip(" .!…")))
    if len(told) > _LONGEST_CORRECTION or asks(sentence):
        return None
    for pattern in forms().correction:
        match = pattern.fullmatch(told)
        if match is None:
            continue
        wrong, parts = match["w"].strip(), match.groupdict()
        if len(wrong.split()) > _LONGEST_WRONG:
            continue
        if "r" in parts:
            right = _RELATIVE.sub("", match["r"]).strip()
            if _ARTICLE.match(wrong) and _ARTICLE.match(right):
                wrong, right = _ARTICLE.sub("", wrong), _ARTICLE.sub("", right)
            return Correction(wrong, right, answered=content(before))
        wrong, right, statement = _put_right(match["s"].strip(), wrong)
        if not right or not (about := content(statement)):
            return None
        if _WHOSE_NAME.match(statement.strip()):
            return Correction(wrong, right, answered=content(before))
        return Correction(wrong, right, about, denied=match["s"].replace(right, wrong))
    return None


def _put_right(statement: str, wrong: str) -> tuple[str, str, str]:
    """Returns what is wrong, what is right, and the rest of a statement: of numbers, days and months the last
    one, otherwise as many words at the end as `wrong` has."""
    for one_of in (_AMOUNT, _number_word(), _calendar()):
        denied = list(one_of.finditer(wrong))
        said = list(one_of.finditer(statement))
        if len(denied) == 1 and said:
            last = said[-1]
            return denied[0][0], last[0], statement[: last.start()] + statement[last.end() :]
    words = statement.split()
    count = len(wrong.split())
    return wrong, " ".join(words[-count:]), " ".join(words[:-count])


@cache
def _number_word() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(lexicon().number_words)})(?!\w)", re.IGNORECASE)


@cache
def _calendar() -> re.Pattern[str]:
    names = sorted(lexicon().calendar, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", re.IGNORECASE)


def _has_steps(words: str) -> bool:
    return any(pattern.search(words) for pattern in forms().steps)


_DOES = (
    r"(?:live|reside|work|am|are|have|own|drive|speak|play|study(?! (?:group|guide|hall|room|time)\b)|teach"
    r"|run|belong|come|moved|volunteer|collect|love|like|enjoy|prefer|hate|dislike)"
)
_OTHERS_DO = (
    r"(?:is|lives|works|has|owns|drives|speaks|plays|studies|teaches|runs|loves|likes|enjoys|prefers|hates)"
)
_DOING = r"(?:living|working|studying|learning|training|volunteering|teaching)"
# After these the second verb has another subject ("friends who live here and work there"), or another sense
# ("I want to live here and work there").
_BOUND = re.compile(
    r"\b(?:who|whose|that|which|when|where|how|why|what|if|while|used|see|hear|watch|let|make|help"
    r"|seeing|hearing|watching|letting|making|helping)\b|(?<!allergic )(?<!close )(?<!next )\bto (?-i:[a-z])",
    re.IGNORECASE,
)


@cache
def _first() -> re.Pattern[str]:
    """Matches the beginning of a clause whose subject may have a second verb."""
    often, lead = f"(?:{piece('ADV')})", piece("LEAD").removesuffix("?")
    being = r"(?P<being>[’']m|[’']re| am| are)\b"
    own = rf"(?P<own>i|we|my \w+ and i)(?:{being}| (?:was|were)\b|[’']ve\b| {often}{_DOES}\b)"
    who = rf"(?P<who>(?:my|our) {piece('ROLE')}(?: {piece('NAME')})?|she|he)(?:[’']s| {often}{_OTHERS_DO})\b"
    return re.compile(rf"(?:{lead})?(?:{own}|{who})", re.IGNORECASE)


@cache
def _joint() -> re.Pattern[str]:
    """Matches where the clause continues with another verb of the same subject."""
    verb = rf"(?:(?P<does>{_DOES})|(?P<others>{_OTHERS_DO})|(?P<doing>{_DOING}))\b"
    return re.compile(rf"(?:,?\s+and\s+|,\s+)(?=(?:{piece('ADV')}){verb})", re.IGNORECASE)


def apart(clause: str, tells: Callable[[str], bool]) -> list[tuple[str, str]]:
    """Splits a clause into statements, each with its subject, and as written.

    Returns it unsplit if any part could not be understood on its own, which `tells` decides for a text.
    """
    parts = _OF_ANOTHER.split(clause)
    if len(parts) > 1 and all(map(tells, parts)):
        return [said for part in parts for said in apart(part, tells)]
    told = plain(clause)
    subject = _first().match(told)
    joints = [] if subject is None else list(_joint().finditer(clause))
    if subject is None or not joints or _BOUND.search(clause) or denies(clause):
        return [(clause, clause)]
    head = clause[: joints[0].start()]
    found = [(head, head)]
    ends = [*(one.start() for one in joints[1:]), len(clause)]
    for joint, end in zip(joints, ends, strict=True):
        rest = clause[joint.end() : end]
        doer = _doer(subject, joint)
        if doer is None:
            return [(clause, clause)]
        found.append((f"{doer} {rest}", rest))
    return found if all(tells(said) for said, _ in found) else [(clause, clause)]


def _doer(subject: re.Match[str], joint: re.Match[str]) -> str | None:
    """Returns the subject in the form that the verb after the joint needs; None where they do not agree."""
    if joint["does"] and subject["own"]:
        return subject["own"]
    if joint["others"] and subject["who"]:
        return subject["who"]
    if joint["doing"] and subject["being"]:
        return subject["own"] + subject["being"]
    return None


_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = ("a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: count for count, words in enumerate(_COUNTED, 1) for word in words.split()} | {
    "a couple of": 2,
    "a few": 3,
}
_AHEAD = re.compile(
    r"\b(?:(?P<word>tomorrow|the day after tomorrow)|next (?P<unit>week|month|year)"
    r"|(?:next|this|on|coming) (?P<day>" + "|".join(_DAYS) + r")"
    r"|in (?P<count>\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + r") "
    r"(?P<units>day|week|month|year)s?)\b",
    re.IGNORECASE,
)
_COMES = re.compile(
    r"\b(?:will|[’']ll|going to|is on|are on|[’']s on|is in|flying|leaving|travell?ing|moving|starting|due"
    r"|coming|have (?:an?|my|the|our)|[’']ve got|we leave|we fly|i leave|i fly|scheduled|planned|booked"
    r"|next|upcoming|(?:i[’']m|i am|we[’']re|we are) \w+ing)\b",
    re.IGNORECASE,
)
_DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Held:
    """The time for which something is true; None where it is not stated."""

    since: datetime | None = None
    until: datetime | None = None


def held(text: str, said_at: datetime) -> Held:
    """Returns the first period that `text` names, if it bounds when the text is true."""
    ahead = _AHEAD.search(text)
    if ahead is not None and not re.search(r"\b(?:last|ago|yesterday)\b", text, re.IGNORECASE):
        day = _midnight(said_at) + timedelta(days=_days_ahead(ahead, said_at))
        if ahead["day"] is None or _COMES.search(text):
            return Held(day)
    found = spans(text, said_at)
    if not found:
        return Held()
    span = found[0]
    if span.yearly and span.end <= said_at and _COMES.search(text):
        return Held(_next_year(span.start))
    if span.start.year <= _FIRST_YEAR:
        return Held(None, span.end)
    return Held(span.start)


_FIRST_YEAR = 1970


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _next_year(moment: datetime) -> datetime:
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=moment.year + 1, day=day)


def _days_ahead(match: re.Match[str], said_at: datetime) -> int:
    if match["word"]:
        return 1 if match["word"].lower() == "tomorrow" else 2
    if match["day"]:
        return (_DAYS.index(match["day"].lower()) - said_at.weekday()) % len(_DAYS) or len(_DAYS)
    if match["unit"]:
        return _DAYS_IN[match["unit"].lower()]
    count = match["count"].lower()
    number = int(count) if count.isdigit() else _COUNTS[count]
    return number * _DAYS_IN[match["units"].lower()]


_LEAST_IMPORTANCE = 0.5
_IMPORTANT = {"health": 0.85, "name": 0.85, "diet": 0.8, "birthday": 0.75, "residence": 0.7, "employer": 0.7}
ASKED = 0.9
"""The importance of what the user asks Atlas to remember."""

_LONGEST = 400
_HAN = re.compile(r"[\u3400-\u9fff]")
# Every request to remember something contains one of these, so most messages need not be parsed.
_HINT = re.compile(
    r"remember|memor|forget|note|jot|write down|save|store|in mind|merk|vergiss|denk|notier|behalt|souv|reti|"
    r"rappelle|oubli|recuerd|acuérd|olvid|anota|ten en cuenta|delete|erase|remove|lösch|borra|记|忘",
    re.IGNORECASE,
)
_LIVES_WITH = re.compile(
    r"\b(?:with|and) (?P<who>(?:my|our) (?:partner|wife|husband|girlfriend|boyfriend|fianc[ée]e?|son|daughter"
    r"|sister|brother|mother|mum|mom|father|dad|dog|cat|flatmate|roommate))"
    r" (?P<name>[^\W\d_a-zß-öø-ÿ][\w’'\-]*)"
)
_PRONOUN = re.compile(
    r"(?:and |but |also )*(?P<who>she|he|they)(?:(?P<is>[’']s)|(?P<are>[’']re))?\s+", re.IGNORECASE
)
_POSSESSIVE = re.compile(r"(?:and |but |also )*(?:his|her|their) name(?=[’' ])", re.IGNORECASE)


@dataclass(slots=True)
class _Person:
    """The person mentioned last: `called` as in the text, `role` without the name."""

    called: str = field(repr=False)
    role: str = field(repr=False)
    name: str = field(default="", repr=False)


def read(utterance: Utterance) -> list[Candidate]:
    """Returns what is worth remembering in a message: code and lists first, without duplicates."""
    utterance = replace(utterance, text=utterance.text[:LONGEST])
    seen: set[str] = set()
    kept: list[Candidate] = []
    for one in (*_wholes(utterance), *_statements(utterance)):
        key = normal(one.text)
        if one.correction is not None:
            # Learned only if it corrects something; otherwise the statement is read as any other.
            kept.append(one)
            continue
        held_already = any(key in known or known in key for known in seen)
        if not held_already and supported(one.text, one.quote, utterance.text):
            seen.add(key)
            kept.append(one)
    return kept


def asked_to_remember(utterance: Utterance) -> list[Candidate]:
    """Returns only what the message explicitly asks Atlas to remember."""
    if _HINT.search(utterance.text[:LONGEST]) is None:
        return []
    return [one for one in read(utterance) if one.origin is MemoryOrigin.PERSON]


def asked_to_forget(text: str) -> str | None:
    """Returns what a message asks Atlas to forget, as the words to look for; None if it does not ask that."""
    for sentence in sentences(text[:LONGEST]) if _HINT.search(text[:LONGEST]) else ():
        wish = to_forget(sentence.text)
        if wish is not None:
            meant = [word for word in re.findall(r"[\w’'\-]+", wish) if content(word)]
            return " ".join(sorted(sorted(meant, key=len)[-_FORGOTTEN_BY:], key=meant.index))
    return None


def worded(text: str) -> str:
    """Returns a statement as a sentence."""
    line = " ".join(text.split()).strip(" ,;:–—-")
    line = line[:1].upper() + line[1:]
    if line.endswith((".", "!", "…", "。", "！")):
        return line
    return f"{line.rstrip('，；：')}。" if _HAN.search(line[-2:]) else f"{line}."


def _wholes(utterance: Utterance) -> Iterator[Candidate]:
    """Yields code, and lists of steps."""
    for block in blocks(utterance.text):
        told = code(block)
        if told is not None:
            yield _whole(utterance, MemoryKind.CODE, told, told.words)
    for text in lists(utterance.text):
        told = procedure(text)
        if told is not None:
            yield _whole(utterance, MemoryKind.PROCEDURE, told, told.words)


def _whole(utterance: Utterance, kind: MemoryKind, told: Told, text: str) -> Candidate:
    return Candidate(
        kind,
        text,
        told.words,
        utterance.message_id,
        utterance.session_id,
        utterance.at,
        subject=told.about,
        confidence=0.85,
        importance=_weight(text, utterance, _LEAST_IMPORTANCE),
        valid_from=utterance.at,
    )


def _statements(utterance: Utterance) -> Iterator[Candidate]:
    person: _Person | None = None
    kept = (one for one in sentences(utterance.text) if to_forget(one.text) is None)
    for sentence in kept:
        wish = to_remember(sentence.text)
        if wish is not None:
            for said, quote in apart(wish, partial(_tells, person=None)):
                yield _wished(utterance, said, quote)
            continue
        yield from _corrections(utterance, sentence.text)
        whole = _whole_sentence(utterance, sentence)
        if whole is not None:
            yield whole
            continue
        for clause in sentence.clauses:
            told = plain(clause)
            asked = open_question(told)
            if asked is not None:
                yield _whole(utterance, MemoryKind.QUESTION, asked, worded(asked.words))
                continue
            for said, quote in apart(clause, partial(_tells, person=person)):
                told = _resolved(plain(said), person)
                understood = reading(told)
                if understood is None:
                    continue
                person = _spoken_of(understood) or person
                candidate = _understood(utterance, told, quote, understood)
                if candidate is not None:
                    yield candidate
                # They stay, even if the user moves.
                for also in _company(told) if understood.pattern.attribute == "residence" else ():
                    meant = reading(also)
                    candidate = _understood(utterance, also, quote, meant) if meant is not None else None
                    if candidate is not None:
                        yield candidate


def _corrections(utterance: Utterance, sentence: str) -> Iterator[Candidate]:
    corrects = correction(sentence, utterance.before)
    if corrects is not None:
        yield replace(
            statement(utterance, MemoryKind.FACT, worded(plain(sentence)), sentence, confidence=0.85),
            only_ends=True,
            correction=corrects,
        )


def _company(told: str) -> Iterator[str]:
    """Yields who somebody is with whom the user lives: "I live in Leeds with my partner Ada"."""
    for match in _LIVES_WITH.finditer(told):
        yield f"{match['who']} is {match['name']}"


def _tells(said: str, person: _Person | None) -> bool:
    return reading(_resolved(plain(said), person)) is not None


def _whole_sentence(utterance: Utterance, sentence: Sentence) -> Candidate | None:
    steps = procedure(sentence.text)
    if steps is not None:
        return _whole(utterance, MemoryKind.PROCEDURE, steps, worded(steps.words))
    asked = open_question(sentence.text)
    if asked is not None:
        return _whole(utterance, MemoryKind.QUESTION, asked, worded(asked.words))
    return None


@dataclass(frozen=True, slots=True)
class Understood:
    """The kind of a statement, and whom it is about."""

    kind: MemoryKind
    subject: str = field(repr=False)


def understand(text: str) -> Understood:
    """Classifies a text; a fact where no pattern matches."""
    understood = reading(plain(text)) if len(text) <= LONGEST_SENTENCE else None
    if understood is None:
        return Understood(MemoryKind.FACT, "")
    return Understood(understood.pattern.kind, _subject(understood))


def _wished(utterance: Utterance, wish: str, quote: str) -> Candidate:
    understood = understand(wish)
    candidate = Candidate(
        understood.kind,
        worded(wish),
        quote,
        utterance.message_id,
        utterance.session_id,
        utterance.at,
        subject=understood.subject,
        origin=MemoryOrigin.PERSON,
        confidence=1.0,
        importance=max(ASKED, _weight(wish, utterance, 0.0)),
    )
    return dated(candidate)


def _understood(utterance: Utterance, told: str, clause: str, understood: PatternMatch) -> Candidate | None:
    pattern = understood.pattern
    if pattern.dated and not tells_date(told):
        return None
    if not pattern.only_ends and _vague(understood.value):
        return None
    text = worded(told)
    if len(text) > _LONGEST:
        return None
    floor = _IMPORTANT.get(pattern.attribute, _LEAST_IMPORTANCE)
    quote = clause if found(clause, utterance.text) else told
    return dated(
        Candidate(
            pattern.kind,
            text,
            quote,
            utterance.message_id,
            utterance.session_id,
            utterance.at,
            subject=_subject(understood),
            confidence=pattern.confidence,
            importance=_weight(text, utterance, floor),
            only_ends=pattern.only_ends,
        )
    )


def statement(
    utterance: Utterance,
    kind: MemoryKind,
    text: str,
    quote: str,
    *,
    confidence: float,
    subject: str = ONESELF,
) -> Candidate:
    """Returns a candidate with the importance of its text and the time that it names."""
    return dated(
        Candidate(
            kind,
            text,
            quote,
            utterance.message_id,
            utterance.session_id,
            utterance.at,
            subject=subject,
            confidence=confidence,
            importance=_weight(text, utterance, _LEAST_IMPORTANCE),
        )
    )


def dated(candidate: Candidate) -> Candidate:
    """Sets the time that the text names; otherwise the candidate is true from the time of the message."""
    time = held(candidate.text, candidate.said_at.astimezone(LocalZone()))
    if time.since is None and time.until is None:
        return replace(candidate, valid_from=candidate.said_at)
    if candidate.kind is MemoryKind.EVENT or time.until is None:
        return replace(candidate, valid_from=time.since)
    return replace(candidate, valid_from=candidate.said_at, valid_until=time.until)


def _weight(text: str, utterance: Utterance, floor: float) -> float:
    return max(floor, importance(text, Role.USER, marked=utterance.important).score)


def _vague(value: str) -> bool:
    said = re.findall(r"[\w’'\-]+", value.casefold())
    empty = vague()
    return not said or (said[0] in empty and len(said) <= 2) or all(word in empty for word in said)


def _subject(understood: PatternMatch) -> str:
    who = understood.who
    return who[:1].lower() + who[1:] if who.lower().startswith(("my ", "our ")) else who or ONESELF


def _spoken_of(understood: PatternMatch) -> _Person | None:
    who, value = understood.who, understood.value
    if not who or understood.pattern.attribute not in ("person", "relation"):
        return None
    words = who.replace(",", "").split()
    name = words[-1] if len(words) > 1 and words[-1][:1].isupper() and words[-1][1:].islower() else ""
    role = " ".join(words[:-1]) if name else " ".join(words)
    if understood.pattern.attribute == "person" and not name:
        given = re.match(r"[^\W\d_][\w’'\-]*", value) if value[:1].isupper() else None
        called = re.search(r"\b(?:called|named) ([^\W\d_][\w’'\-]*)", value)
        name = called[1] if called else given[0] if given else ""
        if not role.lower().startswith(("my ", "our ")):
            role = f"my {role}"
    if role[:1].isupper() and not role.lower().startswith(("my ", "our ")):
        return None
    called_so = f"{role} {name}".strip()
    return _Person(called_so[:1].upper() + called_so[1:], role, name)


def _resolved(told: str, person: _Person | None) -> str:
    """Returns the clause with "she" or a bare name replaced by the person meant."""
    if person is None:
        return told
    match = _PRONOUN.match(told)
    if match is not None:
        link = " is" if match["is"] else " are" if match["are"] else ""
        return f"{person.called}{link} {told[match.end() :]}"
    if _POSSESSIVE.match(told):
        return _POSSESSIVE.sub(f"{person.role}'s name", told)
    bare = re.sub(r"^(?:and|but|also) ", "", told, flags=re.IGNORECASE)
    if person.name and re.match(rf"{re.escape(person.name)}(?:[’']s)?\s", bare):
        return f"{person.called}{bare[len(person.name) :]}"
    return told
