"""Mail: who wrote what to whom and when; attachments are named, not read."""

from email import policy
from email.message import EmailMessage
from email.parser import BytesParser

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, one_line
from atlas_desktop.parsing.html import add_html
from atlas_desktop.parsing.protocol import Unreadable
from memory.documents.entities import ParsedText

_HEADERS = ("From", "To", "Cc", "Date")


def read_mail(data: bytes) -> ParsedText:
    message = BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    builder = TextBuilder()
    facts = {header: one_line(str(message.get(header, ""))) for header in (*_HEADERS, "Subject")}
    if not any(facts.values()):
        raise Unreadable(Refusal.DAMAGED)
    subject = facts.pop("Subject")
    builder.paragraph("\n".join(f"{header}: {fact}" for header, fact in facts.items() if fact))
    builder.heading(1, subject)
    _add_body(builder, message)
    attached = [
        one_line(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()
    ]
    builder.paragraph("\n".join(f"Attachment: {name}" for name in attached))
    moment = getattr(message["date"], "datetime", None)
    return builder.result(
        title=subject, author=facts["From"], created="" if moment is None else moment.isoformat()
    )


def _add_body(builder: TextBuilder, message: EmailMessage) -> None:
    body = message.get_body(("plain", "html"))
    if body is None:
        return
    text = str(body.get_content())
    if body.get_content_type() == "text/html":
        add_html(builder, text)
    else:
        builder.paragraph(text)
