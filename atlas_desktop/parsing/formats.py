"""TEMP"""
def media_type_of(name, head):
    if head[:5]==b"%PDF-": return "application/pdf"
    ends={".md":"text/markdown",".txt":"text/plain",".py":"text/x-python",".html":"text/html",".pdf":"application/pdf"}
    import os
    return ends.get(os.path.splitext(name)[1].lower())
def parser_of(media_type): return "plain-1"
def is_readable(name): return media_type_of(name, b"") is not None
def is_current(parser): return parser == "plain-1"
