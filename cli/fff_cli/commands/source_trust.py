"""`fff source trust`: which specs of the working folder may use secrets."""

from __future__ import annotations

import os
from pathlib import Path

from fff.errors import UsageError
from fff.web.secrets import references
from fff_cli.output.formats import emit
from fff_cli.output.values import printable
from fff_cli.run.progress import say, say_error
from fff_sources.document import Document, read_document, texts
from fff_sources.load import bundled_names, outer_problems
from fff_sources.trust import TrustStore


def trust(file: Path) -> int:
    """Trust a spec as it is now, and say what it may use from now on; 2 where it is none."""
    document = read_document(file)
    problems = outer_problems(document)
    for error in problems:
        say_error(error)
    if problems:
        return 2
    TrustStore(os.environ).add(document)
    lines = [f"{file} is trusted until it changes", *_hosts_and_secrets(document)]
    emit("".join(f"{printable(line)}\n" for line in lines))
    return 0


def revoke(file: Path) -> int:
    """Trust a spec no longer."""
    if not TrustStore(os.environ).remove(file):
        raise UsageError(f"{file} is not trusted", hint="`fff source trust --list` shows those that are")
    emit(f"{printable(str(file))} is not trusted any more\n")
    return 0


def list_trusted() -> int:
    """Print the specs that are trusted, and which of them have changed since."""
    entries = TrustStore(os.environ).entries()
    if not entries:
        say("no spec is trusted")
    for path, digest in sorted(entries.items()):
        try:
            state = "trusted" if read_document(Path(path)).digest == digest else "changed since"
        except UsageError:
            state = "cannot be read"
        emit(f"{printable(path)}\t{state}\n")
    return 0


def _hosts_and_secrets(document: Document) -> list[str]:
    """Each source of a spec: where it says it is, and the secrets it names."""
    lines = []
    for name, source in document.data["sources"].items():
        client = source.get("client") if isinstance(source, dict) else None
        client = client if isinstance(client, dict) else {}
        named = sorted({one for _, text in texts(source) for one in references(text)})
        hosts = [client.get("base_url", "no base_url"), *(client.get("allowed_hosts") or ())]
        line = f"  {name} ({', '.join(map(str, hosts))}): {', '.join(named) or 'no secrets'}"
        bundled = "; takes the place of the bundled source" if name.lower() in bundled_names() else ""
        lines.append(line + bundled)
    return lines
