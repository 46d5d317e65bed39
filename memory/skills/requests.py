"""Tells messages that want something done, or to know how it is done, from remarks and questions of fact.

English, German and Spanish. In other languages no message counts as a request, and a skill has to be closer.
"""

import re

_WHY = re.compile(r"\s*(?:why|warum|wieso|weshalb|por qu[eé])\b", re.IGNORECASE)
_ENGLISH = (
    r"\bhow (?:do|can|could|should|shall|would|did|does|often (?:do|should)) "
    r"(?:i|we|you|one|it|that|this|the \w+)\b",
    r"\bhow to\b",
    r"\b(?:what|which|where|when|whom|whose)\b(?: [\w'’-]+){0,6} (?:do|should|shall|can|could|must|have|would)"
    r" (?:i|we|it go)\b",
    r"\b(?:our|my|the) (?:usual |normal )?(?:procedure|routine|process|format|setup|checklist|schedule)\b",
    r"\b(?:help|guide|walk|give|get|make|drill|quiz|test|teach|show|tell|remind) (?:me|us|my|our|her|him|them)\b",
    r"\bplease\b|\b(?:can|could|would|will) you\b",
    r"\b(?:i|we)(?:['’]d| would)? (?:want|need|have|like|must|ought|got|intend|plan)\b(?! been\b)",
    r"\b(?:i|we)(?:['’]m|['’]re| am| are) (?:\w+ )?\w+ing\b",
    r"\blet['’]?s\b|\bwhat now\b|\bsteps\b|\bwhat to do\b|\btime (?:to|for)\b",
    r"\b(?:should|has to|have to|needs?|must)\b",
    r"\b(?:i|we|my|our|me|us|any)\b[^?]{0,200}\?",
    r"(?:^|[.!?:;,] )(?:then |now |and )?(?:add|answer|archive|arrange|bake|book|build|calculate|call|cancel"
    r"|change|check|clean|compare|compose|cook|correct|create|cut|debug|define|design|do|draft|edit|explain"
    r"|file|fill|find|fix|format|go (?:over|through)|improve|install|list|look (?:at|over)|make|move|organi[sz]e"
    r"|outline|pack|plan|practi[sc]e|prepare|proofread|put|quiz|read|rename|repair|replace|report|review|rewrite"
    r"|run|schedule|send|set|shorten|sketch|sort|start|sum up|summari[sz]e|test|tidy|train|translate|turn"
    r"|update|walk|wash|water|write)\b",
)
_GERMAN = (
    r"\bwie (?:kann|soll|sollte|muss|mache?|bekomme|kriege|geht|ging|oft|wird|werden|man|\w+e) (?:ich|wir|man|das|es)\b",
    r"\b(?:was|welche\w*|wo|wann|wen|wem)\b(?: [\w'’-]+){0,6} (?:soll|sollte|muss|kann|brauche|mache?)"
    r"(?:n|st)? (?:ich|wir|man)\b",
    r"\b(?:hilf|gib|zeig|sag|erklär|schreib|mach|erstell|plan|prüf|such|frag|erinner)e? (?:mir|mich|uns|meine?n?|den|"
    r"die|das|eine?n?)\b",
    r"\bbitte\b|\b(?:kannst|könntest|würdest) du\b",
    r"\b(?:ich|wir) (?:will|wollen|möchten?|muss|müssen|brauchen?|soll|sollen|würden?)\b",
    r"\b(?:mir|uns|mich|ich|wir|meine?[nmrs]?|unsere?[nmrs]?)\b[^?]{0,200}\?",
    r"\b(?:sollten?|muss|müssen)\b|\bwas nun\b|\bschritte?\b|\banleitung\b|\bcheckliste\b",
    r"(?:^|[.!?:;,] )(?:schreibe?|erstelle?|plane|prüfe?|übersetze?|fasse?|korrigiere|bereite|mache?|liste)\b",
)
_SPANISH = (
    r"\bc[oó]mo (?:puedo|podemos|debo|debemos|hago|hacemos|se hace|\w+o)\b",
    r"\bqu[eé] (?:hago|hacemos|debo|debemos|necesito|necesitamos|tengo que|tenemos que)\b",
    r"\b(?:ay[uú]dame|dime|dame|hazme|escr[ií]beme|ens[eé]ñame|mu[eé]strame|prep[aá]rame|expl[ií]came)\b",
    r"\bpor favor\b|\b(?:puedes|podr[ií]as)\b|\b(?:quiero|queremos|necesito|necesitamos|tengo que|tenemos que)\b",
    r"\b(?:mi|mis|nuestr[oa]s?|me|nos)\b[^?]{0,200}\?|\bpasos\b|\bdeber[ií]a\b",
    r"(?:^|[.!?:;,] )(?:escribe|planea|prepara|revisa|traduce|resume|corrige|haz|organiza)\b",
)
_WANTS = re.compile("|".join((*_ENGLISH, *_GERMAN, *_SPANISH)), re.IGNORECASE)
_LONGEST = 1000


def asks_for_work(text: str) -> bool:
    """Returns whether a message wants something done, or to know how to do it."""
    line = " ".join(text[:_LONGEST].split())
    return _WHY.match(line) is None and _WANTS.search(line) is not None
