"""Queries that cannot be understood."""

TEXTS = {
    "bad_query.title": "That search cannot be understood",
    "bad_query.what": "{detail}.",
    "bad_query.next": "Search for one or more words; put a phrase in double quotes.",
    "bad_query.literally": "To look for a word with a colon, put it in double quotes.",
    "bad_query.parts": 'A search is made of words, "phrases", -word, OR, and conditions such as tag:work.',
    "bad_query.at": "Character {at}: {what}",
    "bad_query.from": "Character {at} to {until}: {what}",
    "query": "{what}.",
    "query.try": "{what}. Try: {options}.",
    "query.no_word": "There is no word in it to look for",
    "query.no_question": "A question is missing after ~",
    "query.nothing_beside_or": "OR joins what stands on its two sides; one of them is missing",
    "query.nothing_after_not": "NOT leaves out what follows it, and nothing follows",
    "query.unknown_field": "There is no such condition",
    "query.unknown_value": "This condition does not know that word",
    "query.no_value": "Something is missing after the colon",
    "query.not_a_date": "That is not a date",
    "query.too_long": "It is too long",
    "query.too_many": "It has too many parts",
    "query.too_deep": "It has too many brackets within each other",
    "saved_search_not_found.title": "There is no saved search of that name",
    "saved_search_not_found.what": "Nothing is saved here under {ref}.",
    "saved_search_not_found.next": "`atlas sessions searches` lists the names; `atlas sessions searches add "
    "NAME QUERY` saves one.",
}
