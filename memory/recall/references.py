"""Whether somebody speaks of an earlier conversation. English; a pure function of the words."""

import re

_WHEN = r"(?:last|yesterday|earlier|before|previously|the other (?:day|time|week)|(?:a|one|two|\d+) \w+ ago)"
_WHO = r"(?:we|you|i)(?:'d| had|'ve| have)?\s+(?:just |already |also |once )?"
_TALK = (
    r"(?:discuss(?:ed)?|talk(?:ed|ing)?|sp(?:oke|oken) (?:about|of)|mention(?:ed)?|said|decided|agreed|"
    r"planned|chose|settled on|went (?:over|through)|work(?:ed|ing) on|covered|came up with|told)"
)
_TOLD = r"(?:told|asked|promised|recommended|suggested|advised|mentioned to)"
_DECIDE = r"(?:say|said|tell|told|decide|recommend|suggest|agree|choose|call)"
_CHAT = r"(?:chat|conversation|session|discussion)s?"

_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:as|like|what|that|which|when|the \w+(?: \w+)?)\s+{_WHO}{_TALK}\b",
        rf"\b{_WHO}{_TALK}\b.{{0,60}}\b{_WHEN}\b",
        rf"\b{_WHEN}\b.{{0,40}}\b{_WHO}{_TALK}\b",
        r"\b(?:do|did|can|don't|didn't) (?:you|we) (?:still |even )?(?:remember|recall)\b",
        r"^\W*remember (?:when|what|that|how|the|my|our|me|i|we|you)\b",
        r"\bremember (?:when|what) (?:we|you|i)\b",
        rf"\b(?:did|have|had|didn't|haven't) (?:we|you|i) (?:not |ever |already |also )?{_TALK}\b",
        r"\b(?:did|have) i (?:ever |already )?(?:tell|told|mention|ask|say)\b",
        r"\bdid (?:we|you) (?:ever |already )?(?:tell|say|recommend|suggest|decide|agree|choose)\b",
        rf"\b(?:i|you|we) (?:already )?{_TOLD} (?:you|me|us)\b",
        rf"\bwhat (?:did|have|had|was it) (?:i|we|you) {_DECIDE}",
        rf"\b(?:last|previous|earlier|past|other) {_CHAT}\b",
        r"\b(?:last|the other) time (?:we|you)\b|\blike last time\b",
        r"\b(?:back to|pick(?:ing)? up|continu(?:e|ing)) (?:where we|what we|from (?:where|our|last))",
        r"\bwhere (?:did )?we (?:left|leave) off\b",
        r"\bour (?:last|previous|earlier|other) \w+",
    )
)
_ORDER = re.compile(r"^\W*(?:please )?remember (?:that|my|the|i|to)\b", re.IGNORECASE)


def refers_back(text: str) -> bool:
    """True for "as we discussed last week", "you told me", "remember when" and their like.

    "Remember that …" asks to keep something: it counts only where it asks a question.
    """
    if _ORDER.match(text) and "?" not in text:
        return False
    return any(pattern.search(text) for pattern in _PATTERNS)
