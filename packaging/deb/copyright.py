"""Prints the package's copyright file: `copyright.py PREFIX LICENSE`.

It is made from the metadata of the installed distributions. Run by the environment that is packaged. Fails if
a distribution names no licence.
"""

import re
import sys
from collections.abc import Sequence
from email.message import Message
from importlib.metadata import Distribution, PackagePath, distributions
from pathlib import Path
from typing import cast

HEAD = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Atlas Desktop
Comment: The package holds the program, the Python libraries it was tested with, and what those libraries were
 compiled with. Their licences lie beside them.
"""

# Compiled into a wheel that does not contain these texts itself.
COMPILED_IN = """\
Files: {site}/sqlcipher3/*.so
Copyright: 2004-2007 Gerhard Häring (the module)
 Zetetic LLC (SQLCipher)
 The OpenSSL Project Authors (libcrypto)
License: Zlib and BSD-3-Clause and Apache-2.0
 The module is under the zlib licence, SQLite is in the public domain, libcrypto is under the Apache License
 2.0 (/usr/share/common-licenses/Apache-2.0). SQLCipher:
 .
 Redistribution and use in source and binary forms, with or without modification, are permitted
 provided that the following conditions are met:
 .
 * Redistributions of source code must retain the above copyright notice, this list of conditions and
 the following disclaimer.
 * Redistributions in binary form must reproduce the above copyright notice, this list of conditions
 and the following disclaimer in the documentation and/or other materials provided with the
 distribution.
 * Neither the name of the ZETETIC LLC nor the names of its contributors may be used to endorse or
 promote products derived from this software without specific prior written permission.
 .
 THIS SOFTWARE IS PROVIDED BY ZETETIC LLC ''AS IS'' AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING,
 BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE
 ARE DISCLAIMED. IN NO EVENT SHALL ZETETIC LLC BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL,
 SPECIAL, EXEMPLARY, OR CONSEQUENTIAL DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF
 SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER
 CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING
 NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE
 POSSIBILITY OF SUCH DAMAGE.
"""


def main(prefix: str, own: Path) -> None:
    site = f"{prefix.lstrip('/')}/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    print(HEAD)
    print("Files: *")
    print("Copyright:", *_notices([own.read_text(encoding="utf-8")]), sep="\n ")
    print("License: MIT")
    print(_indented(own.read_text(encoding="utf-8")))
    for found in sorted(distributions(), key=lambda found: found.name.lower()):
        if found.name != "atlas-desktop":
            print(_stanza(found, site))
    print(COMPILED_IN.format(site=site))


def _stanza(found: Distribution, site: str) -> str:
    files = found.files or []
    tops = sorted({file.parts[0] for file in files if file.parts[0] not in {"..", "__pycache__"}})
    texts = [
        file
        for file in files
        if ".dist-info" in file.parts[0] and re.match(r"(?i)(licen[cs]e|copying|notice)", file.name)
    ]
    notices = _notices([file.read_text(encoding="utf-8") for file in texts])
    if not notices:
        notices = [f"the authors of {found.name} ({_author(found)})"]
    where = [f"/{site}/{file}" for file in texts]
    lines = ["Files:", *(f" {site}/{top}{'' if '.' in top and 'info' not in top else '/*'}" for top in tops)]
    lines += ["Copyright:", *(f" {notice}" for notice in notices)]
    lines += [f"License: {_license(found, texts)}"]
    lines += [" The full text:", *(f"  {path}" for path in where)] if where else [" Named by its metadata."]
    return "\n".join(lines) + "\n"


def _license(found: Distribution, texts: Sequence[PackagePath]) -> str:
    """Returns an SPDX expression if the distribution gives one, else the text it gives."""
    metadata = cast("Message", found.metadata)
    short = (metadata.get("License") or "").strip()
    classifiers = metadata.get_all("Classifier") or []
    candidates = [
        metadata.get("License-Expression"),
        short if "\n" not in short else None,
        *(line.split("::")[-1].strip() for line in classifiers if line.startswith("License")),
        *(file.read_text(encoding="utf-8").strip().splitlines()[0].strip() for file in texts),
    ]
    for candidate in candidates:
        if candidate and candidate != "UNKNOWN":
            lower = re.sub(r"\s+(AND|OR)\s+", lambda match: f" {match[1].lower()} ", candidate)
            return lower.replace("MIT License", "MIT")
    sys.exit(f"{found.name} names no licence")


def _notices(texts: list[str]) -> list[str]:
    """Returns the lines of licence texts that name the copyright holders."""
    found: dict[str, None] = {}
    for text in texts:
        for line in text.splitlines():
            match = re.match(r"\W*(?:copyright\s+)?(?:\(c\)|©|copyright)\s*(.*\d{4}.*)", line, re.IGNORECASE)
            if match:
                found[" ".join(match[1].split())] = None
    return list(found)


def _author(found: Distribution) -> str:
    metadata = cast("Message", found.metadata)
    fields = (metadata.get(name) for name in ("Author", "Author-email", "Maintainer"))
    return next(filter(None, fields), "see its metadata")


def _indented(text: str) -> str:
    return "\n".join(f" {line}" if line.strip() else " ." for line in text.strip().splitlines()) + "\n"


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
