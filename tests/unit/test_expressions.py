"""No text can keep the program busy: every regular expression, and every scan of a whole text, is linear.

Each is known here with texts that are hard for it. One that is new fails `test_every_expression_is_known`:
add it to `LINEAR` with a text that, repeated, makes it look far ahead in vain; where it cannot be linear, see
that its text is cut before, and add it to `BOUNDED`.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from atlas_desktop.exporting.markdown import contained
from atlas_desktop.exporting.redaction import KINDS, Redaction, Redactor
from atlas_desktop.importing import claude, markdown, openwebui
from atlas_desktop.importing.markdown import is_transcript
from atlas_desktop.importing.tree import fenced, quoted
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.summaries import first_words, tidy
from memory.attachments import Attachment, by_words
from memory.context import engine
from memory.context.library import whole_block
from memory.context.recalling import asks
from memory.learning.entities import Utterance
from memory.learning.memory_writer import claim
from memory.learning.reader import read, understand
from memory.recall.words import (
    asks_advice,
    named,
    states_preference,
    surveys,
    without_names,
    without_small_words,
)
from memory.summaries.evidence import Evidence, Rule, flaws, importance, names, numbers
from memory.summaries.planning import sentences
from memory.summaries.summarise import content_words
from memory.vectors.entities import passages
from models.messages import Role
from tests.unit.expressions import expressions, seconds, use

SIZES = (1_000, 10_000, 100_000)
MARGIN = 4
"""Ten times the text may take so many times ten times as long: caches make the first steps look quick."""
SLACK_S = 0.02
TRIES = 3
AT = datetime(2026, 11, 25, tzinfo=UTC)

LINEAR: dict[str, dict[str, tuple[str, ...]]] = {
    "atlas_desktop.settings.file": {
        "_DEEP_KEY": ("a", "a.", "[", " ", "\n", "a\n"),
    },
    "atlas_desktop.tui.chat.markdown": {
        "_MARKERS": ("[1", "[1, ", "[1,1", "[1]", "1"),
        "_NUMBERS": ("1", "1 ", "a"),
    },
    "atlas_desktop.tui.images": {
        "_ANSWER": ("\x1bP>|", "\x1bP>|a", "\x1b[?1;", "1", "\x1b[6;1"),
        "_COMMAND": ("\x1b_G", "\x1b_Ga", "a"),
        "_KITTY": ("kitty(", "1"),
        "_PLACEHOLDERS": ("\U0010eeee", "\U0010eeeea"),
        "_REPEATED": ("a", "ab"),
    },
    "memory.attachments": {
        "_WORD": (" a", "\na"),
        "_UNSPACED": ("\u30ff", "\u0eff"),
    },
    "memory.clients": {
        "NAME": ("a", "a.", "-"),
    },
    "memory.context.library": {
        "_FENCES": ("`", "a"),
    },
    "memory.context.engine": {
        "_BORDERS": ("!", "!)", " ", "\n"),
    },
    "memory.context.recalling": {
        "_WORD": ("1 ", "1\n"),
        "_ONLY_ASKS": ("\uff1f", "a?"),
    },
    "memory.memories.upkeep": {
        "_SENTENCE": (" !", " \n"),
    },
    "memory.memories.lifetime": {
        "CARD": ("\u00a0\u2011", "\n\u00a0", "1 "),
        "IBAN": (" .", "a\u00a0", "AA11"),
        "_GIVEN": ("pin ", "pin is ", "pass "),
        "_CODE": ("code ", "code is ", "a"),
        "_NO_VALUE": ("a", "so"),
        "_KNOWN": ("sk-a", "eyJaaaaaaaa.", "-----BEGIN A"),
        "_RUN": ("aA1", "a:"),
    },
    "memory.memories.entities": {
        "_WORD": (" a", "a."),
    },
    "memory.learning.extraction": {
        "_OWN": ("'i", " m"),
        "_PASSING": ("i ", "i'"),
    },
    "memory.learning.memory_writer": {
        "_CHANGED": (".o", "1\n"),
        "_NO_MORE": ("not ", "kein a"),
        "_NOW": (" now", " "),
        "_TAIL": ("  ", ", "),
        "_RATHER_THAN": (" \n", "  "),
        "_TOPIC": (";e", "e\n"),
        "_TITLE": ("S ", "r "),
        "_CAPITAL": ("A\n", ".A"),
    },
    "memory.learning.reader": {
        "_LIVES_WITH": ("with my ", "and my dad "),
        "_SORRY": ("no, ", "no,", "sorry "),
        "_ARTICLE": ("a ", "the "),
        "_WHOSE_NAME": ("his name ", "her "),
        "_OF_ANOTHER": (" and ", " and my a ", " "),
        "_AHEAD": (".t", "1."),
        "_COMES": ("b\n", "d "),
        "_BOUND": ("\no", "\nf"),
        "_HINT": ("c ", "an"),
        "_HAN": ("a", "\u6211"),
    },
    "memory.learning.entities": {
        "_DENIES": ("o.", "p "),
    },
    "memory.learning.statement_filter": {
        "_PIECE": ("<", "A<"),
        "_FENCE": ("\n", "\t"),
        "_INLINE_FENCE": ("`", "``` "),
        "_CITED_LINE": ("\n", "> "),
        "_LIST_MARK": ("\n", " "),
        "_LIST": (":-", ":"),
        "_ONESELF": ("s\n", "j\n"),
        "_OPEN_QUOTE": ("a,", ',"'),
        "_END": ("\uff01\uff1f", "\u3002\uff1f"),
        "_ABBREVIATED": ("  ", "\n "),
        "_CLAUSE": ("  ", " \n"),
        "_ADVERBIAL": ("\n", "as "),
        "_KINDLY": (" \n", "'."),
        "_NUMBERED": ("1. a\n", "  ", "1"),
        "_SELF": ("i", "m"),
    },
    "memory.summaries.evidence": {
        "_NUMBER": ("a", "1"),
        "_THOUSANDS": ("\n", "\u2019"),
        "_SPACED": ("1/", "1 "),
        "_DECIMAL": ("11", "\n"),
        "_TOKEN": ("1_", ".A"),
        "_GERMAN_NOUN": ("cp", "keit"),
        "_NOT_A_NAME_END": ("mn", "ment"),
        "_SPEECH": ("\n", "* "),
        "_CHECKED_SENTENCE_END": (" \u3002", "\n?"),
        "_TITLE": ("A\u201e", "a\u201e"),
        "_QUESTION": ("\uff1f ", "A\uff1f"),
        "_CODE": ("`", "``` "),
    },
    "memory.summaries.languages": {
        "_WORD": ("a_", "_A"),
    },
    "memory.summaries.planning": {
        "_FENCE": ("``` a ", "~~~ a "),
        "_LINE_MARKS": ("  ", "\n "),
        "_RULE": ("+\n", "\n"),
        "_EMPHASIS": ("`x ", "**"),
        "_ENDS": ("\uff1f", "\uff01"),
        "_ABBREVIATED": (" ", "\n\n"),
        "_HEADER": ("1", "\n"),
        "_LABELLED": (" :", "\n"),
        "_WRAPPED": ("a\n", "\n", "a"),
    },
    "memory.organising": {
        "_WORD": ("a_", "_"),
    },
    "memory.notes.names": {
        "WORD": ("a", "a_", "é "),
        "_CAMEL": ("a", "aA", "A"),
    },
    "memory.notes.markup": {
        "_FRONT": ("---\n", "---\na\n", "---\n ", "---\n-"),
        "_FIELD": ("a", "a ", "- ", "a::", " "),
        "_PROPERTY": ("alias:: ", " alias::\n", "\t", "- "),
        "_CODE": ("`", "`a", "``a`"),
        "_WIKI": ("[[", "[[a", "![[a#", "[[a|", "[["),
        "_INLINE": ("[", "[a](", "[a](<", '![a](b "', "[a](b ("),
        "_URL": ("a", "a:", "a://", "a://b"),
        "_TAG": ("#", "#1", "#1-", "#a/"),
        "_SEPARATED": (" ", ",", ", "),
        "_ID": ("note:", "note:0", "note:0000"),
        "_ATLAS": ("atlas://note/", "atlas://note/0"),
        "_SCHEME": ("a", "a+", "a:"),
        "_PARAGRAPH": ("\n", "\n ", "\n1", "\n#"),
        "_MARK": (" ", "- ", "- [ ", "1", "#"),
    },
    "memory.skills.choosing": {
        "_WORD": ("a", "a ", "_"),
        "_FENCED": ("``", "~", "\n", "`"),
        "_SENTENCE_END": (". ", " ", ".", "!\n"),
        "_WHY": ("why", "por qu", "w"),
        "_WANTS": ("what a ", "i am a ", "how the a", "my ", "was a ", "wie e", "mi a ", ". then ", "i a"),
    },
    "memory.skills.entities": {
        "_NAME": ("a", "a-", "a--"),
        "_OTHER": ("-", "a-", "é"),
        "_FRONT": ("---\n", "---\na\n", "---\n ", "---\n-"),
    },
    "memory.recall.words": {
        "_WORD": ("a", "a_"),
        "_CONFIRMS": ("!\n", ".."),
        "_ADDRESSED": ("you ", "you  a "),
        "_ADVICE": ("e ", "!a"),
        "_SUMS_UP": (".1", "a."),
        "_SURVEYS": ("e.", "o."),
        "_ATTITUDE": ("i ", "we "),
        "_INSTRUCTS": ("a. ", "please ", "and please ", "wenn ich nach "),
        "_REQUESTS": ("now ", "please, "),
        "_BREAK": (".", "\n"),
        "_PERSON": ("i", "the "),
    },
    "memory.recall.needs": {
        "_ORDER": ("the order ", "in "),
    },
    "memory.recall.moments": {
        "_FORMS": (" p", " y"),
        "_OPEN_AFTER": (" t", ".a"),
        "_OPEN_BEFORE": (" t", "a."),
        "_LEADS": ("\n", "from "),
        "_ENDS": ("\n", "by "),
        "_ASKS_WHEN": ("h\n", " r"),
        "_WORD": ("1 ", "\n1"),
    },
    "memory.recall.question": {
        "_PATTERNS": ("before a ", "before "),
        "_ORDER": ("\n", "  "),
        "_SENTENCE": ('"a', "“", "a.", "? ", "「"),
        "_LETTER": ("a", "1"),
        "_SCRIPTS": ("\u4e00", "a"),
    },
    "memory.search.terms": {
        "_ISO": ("1", "-\n"),
        "_SHORT": ("1w", "1"),
        "_AGO": ("11", "ge"),
        "_PERIOD": ("p", "ey"),
        "_WEEKDAY": ("tf", " l"),
        "_MONTH": ("jun a ", "af"),
        "_FORMS": ("jj", "na"),
        "_FIELD": ("a", "za"),
        "_RUN": (".", "11"),
        "_UNSPACED": ("\u3040a", "A\u1780"),
    },
    "memory.search.language": {
        "_PLAIN": (".", "1a"),
    },
    "memory.storage.queries.erasure_check": {
        "_ID": ("19", "a1"),
    },
    "memory.storage.transfer": {
        "_OWN_ID": ("\n", "0"),
    },
    "memory.storage.salvage": {
        "_ID": ("\n", " "),
        "_PARCEL_KEY": ("parcel_key", "\n"),
    },
    "memory.storage.connection": {
        "_NO_LINE": ("\x1b", "a\n"),
        "_ID": ("\n9", "\n"),
    },
    "memory.storage.words": {
        "_PIECE": ('"', "a"),
    },
    "memory.vault.keys": {
        "_SEPARATORS": (".1", "A\u2010"),
        "_ALPHABET": ("\n", "2"),
    },
    "memory.sync.folder": {
        "NAME": ("a", "0"),
        "_DRAFT": (".", ".a", "0"),
    },
    "memory.vectors.entities": {
        "_END": ("!", "\n"),
    },
    "atlas_desktop.cli.context": {
        "_STEERING": ("\u202a", "\u2069\u009f"),
        "_BROKEN": ("a",),
    },
    "atlas_desktop.cli.insights": {
        "_SPAN": ("1A", "\n"),
    },
    "atlas_desktop.cli.sessions": {
        "_FULL_ID": ("\n", "0"),
    },
    "atlas_desktop.services.cleaning": {
        "_UNCLEAN": ("\ud98b\ud953", "\ud98b\ud8e6"),
    },
    "atlas_desktop.exporting.formats": {
        "_FORBIDDEN": ("~\u009f", "~\u2028"),
        "_RESERVED": ("\n", ".u"),
    },
    "atlas_desktop.exporting.html": {
        "_SAFE_LINK": ("mailto:", "\n"),
    },
    "atlas_desktop.exporting.lines": {
        "_STEERING": ("\u202e\u2066", "\u2066\u2028"),
    },
    "atlas_desktop.exporting.markdown": {
        "_RISKY": ("\n\n", "\n="),
        "_FENCE": ("`", "~"),
        "_NESTED_FENCE": ("\n\t", "\n\n"),
        "_HEADING": ("\t", "#"),
        "_UNDERLINE": ("-", "="),
        "_NO_PARAGRAPH": ("\t", ">"),
        "_ACTIVE": ("<a:", "<", "\\<"),
        "_TICKS": ("`", "` "),
        "_FENCES": (" `", " a"),
        "_SPECIAL": (">_", "<["),
    },
    "atlas_desktop.exporting.redaction": {
        "_SAID": ("'m", "1-"),
        "_TITLED": ("M\n", "'M"),
        "_GREETED": ("\nv", "\n"),
        "_SIGNED": ("gru\u00df ", "wishes "),
        "_RELATED": ("mi ", "his "),
        "_PAIR": ("\u0410\n", "Z-"),
        "_SAID_SMALL": ("m\n", "1 "),
        "_WORD": ("a\n", "A\n"),
        "_DIGIT": ("11", ".1"),
        "_NUMBER": ("1", "1\n"),
        "_EMAIL": ("$_", "a@a."),
        "_SSN": ("\n9", ".9"),
        "_NINO": ("\n\n", "A\n"),
        "_DNI": ("X\n", "-\n"),
        "_CODICE": ("\nS", "\nM"),
        "_INSEE": ("-B", "2 "),
        "_NUMBERED": ("tax ", "id card "),
        "_PHONE": ("(\u2013", "(\u2011"),
        "_CALLED": ("tel ", "fax "),
        "_DATE": ("\n", "1"),
        "_YEARS": ("\n", "15"),
        "_IP": ("\n", "1"),
        "_NANP": ("\n", "1"),
        "_LOCAL": ("\n", " \n"),
        "_ADDRESSES": ("\u2019A", "\u2019\u017d"),
        "_UUID": ("\n", "0"),
    },
    "atlas_desktop.exporting.pdf": {
        "_BULLET": (" ", "* "),
        "_FENCE": ("\n", "`"),
        "_HEADING": ("\n", " "),
        "_WORDS": ("1 ", " \n"),
    },
    "atlas_desktop.services.search": {
        "_SAVED": ("\n", " "),
    },
    "atlas_desktop.importing.chatgpt": {
        "_MARKER": ("\ue200", "\ue206\ue200"),
    },
    "atlas_desktop.importing.claude": {
        "_THINKING": ("<antThinking>", "<antThinking> "),
        "_ATTRIBUTE": ("1", "a="),
    },
    "atlas_desktop.importing.markdown": {
        "_FIELD": ("A", "\n"),
        "_ITEM": ("  ", "\n"),
        "_QUOTED": (" ]", "\n["),
        "_HEADING": ("\n", "#\n"),
        "_BOLD": ("_", "**"),
        "_PLAIN": ("Aa", "AA"),
        "_FENCE": ("`", "~~"),
        "_RULE": ("*", "_"),
        "_ESCAPED": ("]\\", "$\\"),
        "_ABOUT": ("*begun 2024-01-01", " · ", "a"),
    },
    "atlas_desktop.importing.lmstudio": {
        "_STEP": ("\n", "1"),
    },
    "atlas_desktop.importing.sources": {
        "_IN_STRING": ("a", "\\\\"),
        "_SIGN": ("a", "{"),
        "_NEXT": ('"\\', 'A"'),
        "_BARE": ('".', ",A"),
        "_WHOLE": ('{"a":[', ",,"),
        "_BEGINNING": ("\n", '{"'),
        "_WRAPPED": ("\n", "Am"),
        "_DIGITS": ("\n", "1"),
        "_HALVES": ("\udfff", "\ud800"),
    },
    "atlas_desktop.importing.tree": {
        "_FENCES": ("\n", ".\n"),
        "_LANGUAGE": ("\n", "#"),
    },
    "atlas_desktop.services.sessions": {
        "_NUMBER": (" (", " ( a "),
    },
    "atlas_desktop.services.personas": {
        "_VARIABLE": ("}}", "{{"),
    },
    "atlas_desktop.tui.keymap": {
        "_FUNCTION": ("\n", "f"),
    },
    "atlas_desktop.tui.chat.completion": {
        "_COMMAND": ("\n", "/"),
        "_MENTION": (". ", "\n@"),
    },
    "atlas_desktop.tui.chat.composer": {
        "_COMMAND": ("\n", "/-"),
    },
    "atlas_desktop.tui.exports": {
        "_FONT_FACES": ("@font-face {", "@font-face ", "{"),
        "_RULE": (".a {", ".a", "a", "{ "),
        "_FILL": ("fill: #", "fill: #a", "#"),
    },
    "atlas_desktop.tui.markdown_text": {
        "_EMPHASIS": ("**", " **a", "a**", "`", "~"),
        "_SPACE": ("A ", "\nA"),
    },
    "memory.documents.chunking": {
        "_BLANK": ("\n ", "\n\n", " "),
        "_BREAK": (".", '."', ". ", "\n ", "。”"),
        "_NEWLINE": ("\n", "\n "),
        "_FENCE": ("```\n", "``\n"),
        "_DEFINES": ("def ", "export"),
        "_CODE_TYPES": ("text/x-", "a"),
    },
    "memory.documents.citations": {
        "_CELL": ("|", "a"),
        "_YEAR_OR_CODE": ("a", "1"),
        "_ANY_TIME": ("at any ", "any", "at "),
        "_MARKERS": (" [1", "[1,2", "   ", "[1, "),
        "_QUOTED": ("“", '"a\n', "„", "«a", "「", "»"),
        "_DIGITS": ("1", "1 "),
        "_LEFT_OUT": ("  ", " ...", "[…"),
        "_PAUSE": ("a", ",", "a,"),
        "_PLACE": (", a 1", ", a"),
        "_LIST_MARK": ("- ", "1. ", " "),
        "_FENCE": ("```\n", "```\na", "~~~ a "),
        "_REFERS": ("a ", "it", "a"),
        "_NO_CLAIM": ("ich kann ", "sure "),
        "_NOT_THERE": ("passage ", "no ", "text ", "is not ", "is no a", "dokument enthält ", "dokument a "),
    },
    "memory.documents.statements": {
        "_END": (".", '."', ". ", "。”"),
        "_MARKERS": ("[1]", "[1,", "[1] "),
        "_NEW_LINE": (" ", "1"),
        "_LABELLED": (" ", "a", "a "),
        "_ABBREVIATED": (" Dr.", "z. B"),
        "_ORDINAL": ("1.", "12"),
        "_WORD_IN_SENTENCE": (" ", "a"),
        "_DATE": ("1 ", "1. ", "march ", "2024-1-", "1月", "march 1, "),
        "_SPACED": ("1 ", "100 100 ", "1"),
        "_NUMBER": ("a", "1", "1-", "1.a"),
        "_DIGITS": ("1", "1 "),
        "_DECIMAL": ("1", "1."),
        "_HAN_PART": ("1", "1年"),
        "_RANGE": ("1", "1-"),
        "_WORD": ("a-", "a'", "a_"),
        "_AFTER": ("a", " a"),
        "_CURRENCY": ("€", "€ "),
        "_CLAUSE": (",", ", 1", "and ", ";"),
        "_COMMAND": ("a ", " ", "!"),
        "_PASSIVE": ("by", "b"),
    },
    "memory.tasks.analysis": {
        "_COMES_TO": ("so ", "in ", "that"),
        "_BALANCE": (" ", "to ", "."),
        "_BOUND": ("not ", "no lower", "a"),
        "_TIMES": ("1 h ", "1 hours", "1 "),
        "_NUMBERED": ("No. ", "No. 1", "N"),
        "_WITHIN": ("in ", "sich "),
        "_BETWEEN": ("each ", "one "),
    },
    "memory.tasks.lexicon": {
        "_POINT": ("3 ", "March ", "2026", "3rd of "),
        "_BEFORE": ("in ", "in the ", "i"),
        "_CODE": ("EUR ", "EU", " "),
        "_JOINED": (" ", " to ", "-"),
        "_CELL_DATE": ("1.", "12-", "Jan "),
        "_UNIT": ("a", "km", "°"),
        "_WORD": ("a-", "a'", "a_"),
        "_NUMBER": ("1", "1.", "1:", "a1", "1-"),
        "_AFTER": ("a", " a", "-a"),
        "_COMPOUND": ("a-", "a", "a_"),
    },
    "memory.tasks.facts": {
        "_BEGINS": ("the ", " ", "die a"),
        "_BARE_PRICE": ("paid 1", "1", "1.", "sells a", "would "),
        "_NUMBERED": ("1. a ", "1"),
        "_MAIL_HEADER": ("From: ", "From: a", "Date: Mon, 1"),
        "_SPLIT": (",", ", ", " and", " and "),
        "_NAME": ("a", "a'", "1a"),
        "_HEADING": (" ", "#", "# "),
        "_GREETING": ("dear ", "hi", "dear a"),
        "_ITEM": ("- ", " ", "1. "),
        "_LABEL": ("a", " ", "a'"),
        "_NAME_END": (" ", " -", "- "),
        "_YEAR": ("19", "2"),
        "_OPENING": ("A", "A ", "The A", "A 1 "),
        "_NOT_ABOUT": (" ", "mein", "you"),
        "_ABOUT_IT": ("it", "a", "dav"),
    },
    "memory.tasks.briefs": {
        "_OF_NAMED": ("the a of ", "the ", "the a of B"),
        "_AND_OTHERS": (", a", " and ", ",", ", and as"),
        "_STATES": ("the ", "no, the ", "the is"),
        "_SET_BESIDE": ("with ", "to the ", "with the "),
        "_SUPERLATIVE": ("a", "best", "aest "),
        "_YEAR": ("19", "2", "20 "),
        "_MEANT": ("mean", "meant", "quise "),
        "_SUM_UP": ("sum up ", "sum up all ", "the "),
        "_REST": ("of ", "o", "which "),
        "_SPENT": ("what ", "what a ", "all that a "),
        "_HOW_MUCH": ("how much ", "how much a ", "wie viel a "),
        "_SENTENCE": ("a", "a.", ".", "\n"),
        "_LIST": (",", "and ", "an"),
        "_ENUMERATED": (",", "and ", "an"),
        "_OF": ("of ", "o"),
        "_WITH": ("with ", "with their", "by "),
        "_CUT": (" and ", ",", " and sa"),
        "_CHOOSE": (" and ", ", ", " sa"),
        "_WITHOUT": ("lass a", "lass ", "leave ", "no"),
        "_TOKEN": ("1", "a-", "a"),
        "_NAME": ("a", "a'", "1a"),
    },
    "atlas_desktop.parsing.building": {
        "_BLANK_LINES": ("\n", "\n\n\na"),
        "_LINE_ENDS": ("\r", "\x0b"),
        "_SPACES_AT_END": (" ", " a", "\t\u00a0"),
        "_SURROGATES": ("a",),
    },
    "atlas_desktop.parsing.office": {
        "_HEADING": ("heading ", "1"),
    },
    "atlas_desktop.parsing.html": {
        "_ENTITY": ("&a", "&"),
        "_HEADING": ("<", "<a", "<a:h"),
        "_SPACES": (" ", " a"),
    },
    "atlas_desktop.parsing.protocol": {
        "_CONTROL": ("\x01", "a"),
        "_ENTRY": ("PK\x03\x04", "PK"),
        "_MARKUP": ("<html", "<"),
    },
    "atlas_desktop.parsing.plain": {
        "_FIELD": ("title: ", "title:\n", " "),
        "_FRONT": ("---\n", "\n--"),
        "_STRUCTURE": (" ", "=", "> ", "\n="),
        "_DECLARED": ("charset", "charset ", "encoding="),
        "_CREATED": ("{\\creatim", "{"),
        "_FACT": ("{\\title ", "{"),
    },
    "atlas_desktop.parsing.pdf": {
        "_BROKEN_WORD": ("a", "a\ufffe"),
        "_DATE": ("D:2026", "1"),
        "_NO_TITLE": ("a.", "microsoft a -"),
        "_WORD": ("a", "a1"),
    },
    "atlas_desktop.tui.documents.reader": {
        "_PLAIN": ("a", "\u4e00"),
    },
    "memory.documents.ranking": {
        "_INSTRUCTS": ("please ", "your a ", "round ", "then a "),
        "_SENTENCE": ("a", ".", "a. ", ":a"),
        "_TOKEN": ("a", "a_"),
        "_UNITS": ("(", "(in ", "in us "),
        "_WORD": ("a", "a "),
        "_YEAR": ("fy ", "fiscal year ", "fiscal "),
    },
}
"""By module and name: texts that are hard for an expression, when they are repeated."""

MATCHED = frozenset(f"atlas_desktop.importing.markdown:{name}" for name in ("_HEADING", "_BOLD", "_PLAIN"))
"""Those that another function is given, and matches with a line."""

BOUNDED: dict[str, tuple[int, tuple[str, ...]]] = {
    "memory.tasks.briefs:_QUOTED": (4_000, ("“", "„a", "«“")),
    "memory.learning.statement_filter:_QUOTED": (8_000, ("„", "«„", "'a ")),
    "memory.learning.reader:_PRONOUN": (1_000, ("and ", "but ")),
    "memory.learning.reader:_POSSESSIVE": (1_000, ("and ", "but ")),
    "memory.learning.reader:_AMOUNT": (240, ("1,", "1,a")),
    "memory.learning.reader:_RELATIVE": (40, (" that ", ", who")),
}
"""How many characters an expression is given at most."""

ENOUGH_S = 0.25
"""What a bounded expression may take."""

INSIDE = {
    "memory.documents.citations:_Source.find": "a quotation of at most 600 characters",
    "atlas_desktop.parsing.html:_xhtml": "the declared entities of a page",
    "atlas_desktop.parsing.plain:structure": "read in the test of parsers",
    "atlas_desktop.parsing.pdf:_placed": "the title of a bookmark",
    "atlas_desktop.services.documents.scanning:_FOREIGN_BRACKETS": "a pattern, which is one line",
    "atlas_desktop.services.documents.scanning:_WILDCARD": "a pattern, which is one line",
    "atlas_desktop.tui.documents.reader:matches": "what the user looks for, which is quoted",
    "atlas_desktop.tui.documents.reader:_breaking": "a fixed expression for the width of the screen",
    "memory.documents.ranking:subject": "a question",
    "memory.recall.question:sentences": "a question",
    "memory.memories.upkeep:content": "memories, which are short",
    "memory.learning.reader:held": "statements",
    "memory.learning.reader:asked_to_forget": "a wish, which is one sentence",
    "memory.learning.reader:_number_word": "corrections, which are short",
    "memory.learning.reader:_calendar": "corrections, which are short",
    "memory.learning.entities:normal": "read",
    "memory.learning.entities:Correction.applied": "memories, which are short",
    "memory.notes.markup:_blocks": "the ends of lines",
    "memory.learning.entities:_meaning": "read",
    "memory.learning.reader:forms": "read",
    "memory.learning.reader:procedure": "read",
    "memory.learning.reader:code": "read",
    "memory.learning.reader:open_question": "read",
    "memory.learning.reader:_first": "read",
    "memory.learning.reader:_joint": "read",
    "memory.recall.words:without_small_words": "small words",
    "memory.learning.statement_filter:_phrase": "read",
    "memory.learning.statement_filter:_matched": "read",
    "memory.learning.statement_filter:_speaks": "read",
    "memory.learning.statement_filter:language": "read",
    "memory.learning.statement_filter:_date": "read",
    "memory.learning.reader:_vague": "read",
    "memory.learning.reader:_spoken_of": "read",
    "memory.learning.reader:_resolved": "read",
    "memory.learning.statement_filter:voice": "read",
    "memory.summaries.evidence:readings": "numbers",
    "memory.summaries.evidence:Evidence._joined": "evidence",
    "memory.summaries.evidence:Evidence.has_number": "evidence",
    "memory.summaries.evidence:_folded": "flaws",
    "memory.summaries.evidence:loops": "flaws",
    "memory.summaries.evidence:Phrases._any": "importance",
    "memory.recall.words:named": "question",
    "memory.recall.words:without_names": "question",
    "memory.search.terms:normal": "a condition of a query",
    "memory.storage.search.plan:surface": "made of a query; each word is looked at once",
    "memory.storage.search.plan:typed": "made of a query; each word is looked at once",
    "atlas_desktop.exporting.redaction:_bare": "a name",
    "atlas_desktop.exporting.redaction:_is_phone": "a number",
    "memory.memories.lifetime:iban": "a number",
    "atlas_desktop.exporting.redaction:pattern_of": "redaction",
    "atlas_desktop.importing.sources:_like": "test_bombs.py goes through it",
    "atlas_desktop.services.attachments:typed_path": "a path",
    "atlas_desktop.services.attachments:pasted_file": "a path",
    "atlas_desktop.services.summaries:tidy": "tidy",
    "atlas_desktop.tui.history.rows:_wanted": "words that were found",
    "atlas_desktop.tui.chat.message:MessageBlock.highlight": "words that were searched for, as they are",
    "atlas_desktop.tui.history.actions:_place": "a query",
    "models.library.catalog:clean_id": "the name of a model's file",
}
"""Expressions that functions make: the scan below that goes through them, or what they are given."""


EXPRESSIONS = expressions()


def _question(text: str) -> object:
    return (
        asks(text),
        asks_advice(text),
        surveys(text),
        states_preference(text),
        named(text, ["ann", "bo"]),
        without_names(text, ["ann", "bo"]),
    )


def _flaws(text: str) -> object:
    return flaws(text, 100, Rule("a text", ("Ann", "Bo"), 1000, "a prompt"))


def _evidence(text: str) -> object:
    known = Evidence(text)
    return known.unknown_numbers("5 and 17.5"), known.unknown_names("Ann met Bo"), known._joined


def _redacted(text: str) -> object:
    redactor = Redactor(Redaction(frozenset(KINDS)))
    redactor.learn_text(text)
    return redactor.text(text)


SCANS: dict[str, tuple[Callable[[str], object], tuple[str, ...]]] = {
    "passages": (passages, ("!", "a. ", "\n", "a")),
    "parts": (
        lambda text: [engine._cut(text, one) for one in engine._BORDERS],
        ("!", "a! ", " \n", "a "),
    ),
    "halves": (engine._halves, ("a\u0301", "\u0301")),
    "read": (
        lambda text: read(Utterance("m", "s", text, AT)),
        (
            *("I like tea and ", "and ", "first 1: ", "A. "),
            *("ich mag sehr ", "am 3. mai ich ", "je mange toujours ", "yo como siempre ", "desde me "),
            *("我从", "我现在", "我喜欢，", "比起，我"),
        ),
    ),
    "understand": (understand, ("my ", "be ")),
    "claim": (claim, ("ich mag ", "  ")),
    "sentences": (sentences, ("`x ", "Dr. ", "!", "> ")),
    "importance": (lambda text: importance(text, Role.USER), ("!", "A ")),
    "small words": (lambda text: without_small_words(text, "de"), ("der ", "a", "der a ")),
    "content words": (content_words, ("a", "running ")),
    "numbers": (numbers, ("a", "1,000 ", "1")),
    "names": (names, ("Ann ", "A. ", '"')),
    "evidence": (_evidence, ("a", "1 ")),
    "flaws": (_flaws, ("\n", "a b c d e. ")),
    "question": (_question, ("which a ", "? ", "ann ")),
    "words of passages": (lambda text: by_words(text[:100], passages(text)), ("a b. ",)),
    "attached": (
        lambda text: whole_block(Attachment("a", "s", "a.txt", "text/plain", 1, AT, text)),
        ("`", "``` "),
    ),
    "clean": (clean, ("a", "\x1b")),
    "clean line": (clean_line, ("a\n", " ")),
    "first words": (first_words, (" ", "a ")),
    "tidy": (tidy, ("title: ", "\n")),
    "open webui": (
        openwebui._without_details,
        ("<details", "<details>", "<details>a</details> ", "<details><summary>"),
    ),
    "claude": (claude._with_artifacts, ("<antArtifact", "<antArtifact>", '<antArtifact a="')),
    "front matter": (markdown.front_matter, ("---\n", "a: b\n")),
    "transcript": (is_transcript, ("# ", "User: ")),
    "fenced": (fenced, ("`",)),
    "quoted": (quoted, ("\n",)),
    "markdown": (contained, ("#\n", "> ```\n", "<a\n", "`<b> `` ")),
    "redaction": (_redacted, ("A'", "$_", "a@a.", "\n", "1 ", "Mr ")),
}
"""Functions that go through a whole text from outside."""


def assert_linear(work: Callable[[str], object], hard: str) -> None:
    """Fails where ten times the text takes a hundred times as long, before that takes very long."""
    for _ in range(TRIES):
        before, told = None, []
        for size in SIZES:
            took = seconds(work, (hard * (size // len(hard) + 1))[:size] + "\x00")
            told.append(f"{1000 * took:.1f}")
            if before is not None and took > 10 * MARGIN * before + SLACK_S:
                break
            before = took
        else:
            return
    pytest.fail(f"{hard!r}: {', '.join(told)} ms for {SIZES[: len(told)]} characters")


def test_every_expression_is_known() -> None:
    known = {f"{module}:{name}" for module, names_ in LINEAR.items() for name in names_}
    assert set(EXPRESSIONS) == known | set(BOUNDED) | set(INSIDE)


@pytest.mark.parametrize("module", LINEAR)
def test_an_expression_is_linear(module: str) -> None:
    for name, texts in LINEAR[module].items():
        one = EXPRESSIONS[f"{module}:{name}"]
        uses = frozenset({"fullmatch"}) if one.key in MATCHED else one.uses
        for pattern in one.patterns():
            for hard in texts:
                assert_linear(use(pattern, uses), hard)


@pytest.mark.parametrize("name", SCANS)
def test_a_scan_is_linear(name: str) -> None:
    work, texts = SCANS[name]
    for hard in texts:
        assert_linear(work, hard)


@pytest.mark.parametrize("key", BOUNDED)
def test_a_bounded_expression_is_quick(key: str) -> None:
    most, texts = BOUNDED[key]
    for pattern in EXPRESSIONS[key].patterns():
        for hard in texts:
            text = (hard * most)[:most]
            assert min(seconds(use(pattern, EXPRESSIONS[key].uses), text) for _ in range(TRIES)) < ENOUGH_S
