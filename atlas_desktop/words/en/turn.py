"""What is remarked of a turn while it goes on."""

TEXTS = {
    "not_append_only": "This model's prompts cannot only grow: a part of what was said is read again with "
    "every turn, so replies begin later in long conversations.",
    "new_session.pause": "A new conversation has begun: the last words are a while ago.",
    "new_session.length": "A new conversation has begun: the one before has grown long.",
    "new_session.topic": "A new conversation has begun: the topic seems to have changed.",
    "something_new.pause": "Something new? The last words are a while ago. /new begins another conversation.",
    "something_new.length": "Something new? This conversation has grown long. /new begins another.",
    "something_new.topic": "Something new? The topic seems to have changed. "
    "/new begins another conversation.",
    "new_epoch": "From your next words on the model reads this conversation again, under other instructions.",
    "model_restarted": "The model process stopped and was started again.",
    "compacted": "Older turns were summarised: {before} → {after} tokens.",
    "documents": "Read: {each}.",
    "document": "{name} ({reading})",
    "document.none": "none of {count} passages fits beside what was said",
    "document.part": "{passages} of {count} passages, those nearest to your words",
    "document.no_room": "no room beside what was said",
    "document.whole": "whole, {count} tokens",
}
