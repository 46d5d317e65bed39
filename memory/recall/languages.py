"""The language of a question: its small words, which say nothing, and the forms of its words.

The index has English stems, without case and accents. In German, Spanish and French, a question also finds
the other forms of its words: those in the index that have the same stem in that language (Snowball).
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Protocol

from memory.recall.words import FUNCTION_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_NAMES = {"de": "german", "es": "spanish", "fr": "french"}
# Folded, as in the index. In a room that is mostly in another language they are rare, and would count as much
# as the words that are asked about.
_SMALL = {
    "de": """
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bin bis
    bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese
    diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines einige er es
    etwas euch euer eure fur gegen gibt hab habe haben hast hat hatte hatten hattest hier hinter ich ihm
    ihn ihnen ihr ihre ihrem ihren ihrer im in ist ja jede jeder jedes jetzt kann kannst kein keine
    keinen keiner konnen konnte machen mal man mehr mein meine meinem meinen meiner meines mich mir mit
    muss nach nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner seit
    selbst sich sie sind so soll sollte uber um und uns unser unsere unserem unseren unter viel vom von
    vor wann war waren warum was weg weil welche welchem welchen welcher welches wem wen wenn wer werde
    werden weshalb wessen wie wieder wieso wieviel will wir wird wirst wo woher wohin womit wurde wurden
    zu zum zur zwischen
    """,
    "es": """
    a al algo alguna algunas alguno algunos ante antes aquel aquella asi aun aunque cada como con contra
    cual cuales cuando cuanta cuantas cuanto cuantos de del desde donde dos e el ella ellas ellos en
    entre era eran eras eres es esa esas ese eso esos esta estaba estan estas este esto estos estoy fue
    fueron ha habia habian han has hasta hay he la las le les lo los mas me mi mis mucho muy nada ni no
    nos nosotros nuestra nuestras nuestro nuestros o os otra otras otro otros para pero por porque que
    quien quienes se sea ser si sido sin sobre solo son soy su sus tambien tan te tengo ti tiene tienen
    tienes todo todos tu tus un una uno unos y ya yo
    """,
    "fr": """
    a ai aie alors as au aucun aussi aux avait avaient avec avez avoir avons c ca car ce cela ces cet
    cette ceux chez comme comment combien d dans de des dont du elle elles en est et etait etaient ete
    etes etre eu eux fait faut il ils j je l la le les leur leurs lequel laquelle lui m ma mais me meme
    mes moi mon n ne nos notre nous on ont ou par pas pendant plus pour pourquoi qu quand que quel
    quelle quelles quels qui quoi s sa sans se ses si son sont suis sur t ta te tes toi ton tous tout
    toute tres tu un une vers vos votre vous y
    """,
}
_LEAST = 2
_SHORTEST = 3
MOST_FORMS = 500
"""How many words of the index with the same beginning are examined."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 (the library's name)


def fold(word: str) -> str:
    """Returns a word without case and accents, as the index has it."""
    spread = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in spread if not unicodedata.combining(char))


def language_of(text: str) -> str | None:
    """Returns de, es or fr if the small words of that language prevail; None for English, or if unclear."""
    found = [fold(word) for word in _WORD.findall(text)]
    counts = {name: sum(word in small for word in found) for name, small in _small().items()}
    best = max(counts, key=lambda name: counts[name])
    others = [counts[name] for name in counts if name != best]
    english = sum(word in FUNCTION_WORDS for word in found)
    if counts[best] < _LEAST or counts[best] <= max(*others, english):
        return None
    return best


def without_small_words(text: str, language: str) -> str:
    """Returns the text without the small words of a language; the text itself if nothing else is in it."""
    small = _small()[language]
    left = _WORD.sub(lambda match: " " if fold(match[0]) in small else match[0], text)
    return left if re.search(r"\w{2}", left) else text


def beginning(stem: str, language: str) -> str | None:
    """Returns the letters that all forms of a word begin with; None if it is too short to have any."""
    root = _root(stem, language)
    return root[: max(_SHORTEST, len(root) - 1)] if len(root) >= _SHORTEST and root.isalpha() else None


def forms(stem: str, words: Iterable[str], language: str) -> tuple[str, ...]:
    """Returns those of `words` that are other forms of the same word, all as stems of the index."""
    root = _root(stem, language)
    return tuple(word for word in words if word != stem and _root(word, language) == root)


def _root(stem: str, language: str) -> str:
    return _stemmer(language).stemWord(stem)


@cache
def _stemmer(language: str) -> _Stemmer:
    # Only a question in one of these languages needs it; importing it takes 40 ms.
    import snowballstemmer

    found: _Stemmer = snowballstemmer.stemmer(_NAMES[language])
    return found


@cache
def _small() -> dict[str, frozenset[str]]:
    return {name: frozenset(text.split()) for name, text in _SMALL.items()}
