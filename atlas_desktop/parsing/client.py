"""TEMP"""
from memory.documents.entities import ParsedText, Heading
from atlas_desktop.errors import DocumentRefused, Refusal
class DocumentParser:
    async def parse(self, data: bytes, name: str) -> ParsedText:
        if data[:5]==b"%PDF-":
            import pypdfium2, io
            try: pdf=pypdfium2.PdfDocument(data)
            except Exception: raise DocumentRefused(name, Refusal.DAMAGED) from None
            text="";pages=[]
            for p in pdf:
                pages.append(len(text)); text+=p.get_textpage().get_text_bounded().replace("\r\n","\n").strip()+"\n\n"
            return ParsedText(text.rstrip("\n"), tuple(pages))
        text=data.decode("utf-8","replace").replace("\r\n","\n"); hs=[];pos=0
        for l in text.split("\n"):
            if l.startswith("#"): hs.append(Heading(len(l)-len(l.lstrip("#")), l.lstrip("# "), pos))
            pos+=len(l)+1
        return ParsedText(text, headings=tuple(hs), title=hs[0].text if hs else "")
    async def close(self): pass
