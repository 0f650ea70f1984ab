"""The bundled demo: three loopback web sources in the shape of FEC, Demographics and Crime, and the spec that reads them.

data     The demo's rows: invented, the same for the same seed
process  Start and stop the demo sources as a process of their own
server   The demo web sources: slow on purpose, and the same delays for the same seed.

The words are explained in docs/glossary.md.
"""

from __future__ import annotations

from pathlib import Path

#: The source spec of the demo; `FFF_DEMO_BASE_URL` says where the sources are.
SPEC = Path(__file__).with_name("demo.yaml")

#: The query the demo runs: the average contribution and household income by state and crime rating.
QUERY = """\
SELECT AVG(F.contribution), AVG(D.householdIncome), F.State, C.crimeRating
FROM FEC AS F, Demographics AS D, Crime AS C
WHERE F.zip = D.zip AND F.zip = C.zip
GROUP BY F.State, C.crimeRating"""


def spec_text(base_url: str) -> str:
    """The demo's spec with the address the sources really have."""
    lines = SPEC.read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(
        f"{line[: line.index('base_url:')]}base_url: {base_url}\n"
        if line.lstrip().startswith("base_url:")
        else line
        for line in lines
    )
