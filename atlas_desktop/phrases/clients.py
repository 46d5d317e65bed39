"""Texts about clients, their scopes and what they asked for."""

from collections.abc import Collection

from atlas_desktop.locale import N_, _, ngettext
from memory.clients import AccessEntry, AccessKind, AccessOutcome, Client, Scope

_SCOPE_TEXTS = {
    Scope.CHAT: N_("use your models"),
    Scope.RECALL: N_("read your memories and conversations"),
    Scope.DOCUMENTS: N_("read your documents and notes"),
    Scope.REMEMBER: N_("propose memories"),
}
_KIND_TEXTS = {
    AccessKind.MODELS: N_("list of models"),
    AccessKind.CHAT: N_("replies"),
    AccessKind.EMBEDDINGS: N_("vectors"),
    AccessKind.RECALL: N_("memories"),
    AccessKind.SESSIONS: N_("conversations"),
    AccessKind.DOCUMENTS: N_("documents"),
    AccessKind.NOTES: N_("notes"),
    AccessKind.TEMPLATES: N_("templates"),
    AccessKind.REMEMBER: N_("proposed memories"),
}
_OUTCOME_TEXTS = {
    AccessOutcome.DONE: N_("done"),
    AccessOutcome.REFUSED: N_("refused"),
    AccessOutcome.LIMITED: N_("too many requests"),
    AccessOutcome.FAILED: N_("failed"),
}


def scope_text(scope: Scope) -> str:
    """Returns what a scope allows, as in: may use your models."""
    return _(_SCOPE_TEXTS[scope])


def scopes_text(scopes: Collection[Scope]) -> str:
    """Returns the names of scopes, in the order in which they are documented."""
    return ", ".join(scope.value for scope in Scope if scope in scopes)


def kind_text(kind: AccessKind) -> str:
    return _(_KIND_TEXTS[kind])


def client_line(client: Client) -> str:
    """Returns a client in one line."""
    parts = [client.name, scopes_text(client.scopes)]
    if client.bound:
        parts.append(_("project {project}", project=client.project or "–"))
    if client.revoked_at is not None:
        parts.append(_("revoked {when:%Y-%m-%d %H:%M}", when=client.revoked_at.astimezone()))
    elif client.used_at is None:
        parts.append(_("never used"))
    else:
        parts.append(_("last used {when:%Y-%m-%d %H:%M}", when=client.used_at.astimezone()))
    return " · ".join(parts)


def access_line(entry: AccessEntry) -> str:
    """Returns an entry of the log in one line."""
    parts = [
        f"{entry.at.astimezone():%Y-%m-%d %H:%M}",
        entry.client,
        kind_text(entry.kind),
        _(_OUTCOME_TEXTS[entry.outcome]),
        ngettext("1 request", "{count} requests", entry.requests),
    ]
    if entry.items:
        parts.append(ngettext("1 item", "{count} items", entry.items))
    if entry.tokens:
        parts.append(ngettext("1 token", "{count} tokens", entry.tokens))
    return " · ".join(parts)
