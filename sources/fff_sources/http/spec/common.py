"""What the specs of adapters have in common."""

from fff_sources.http.spec.client import Client
from fff_sources.http.spec.cost import RequestCost
from fff_sources.http.spec.model import OnBadRecord, Spec


class SourceSpec(Spec):
    """What every spec of a source behind HTTP may say."""

    description: str = ""
    client: Client
    cost: RequestCost | None = None
    tests: tuple[str, ...] = ()


class DiscoveredTableSpec(Spec):
    """What a spec may say of every table that its adapter finds or makes."""

    description: str = ""
    on_bad_record: OnBadRecord = "fail"
    cost: RequestCost | None = None
