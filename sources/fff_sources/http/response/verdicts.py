"""What an answer says of itself although its status is that of a success: that it failed, or that it is not all.

Sources say so around their records in words that many of them share; what they say in words of their own, a
spec's `on_response` tells. A record itself is never read so: what it says is data, but where it says nothing
else of the key that it was asked by.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from fff.structs import Struct, lazy_pattern
from fff.web.types import Response, Verdict
from fff_sources.http.paging.conventions import normal
from fff_sources.http.paging.surroundings import around
from fff_sources.http.response.json import MalformedJSON, Raw, decode
from fff_sources.http.response.jsonpath import kind_of, parse_path, walk
from fff_sources.http.shaping import MalformedMarkupError
from fff_sources.http.spec import spec

# Words are written as those of `conventions` are.
#: Where any of these is given, it is what went wrong.
_FAULTS = lazy_pattern(
    r"(?:is|has)?(?:an?)?(?:err|errors?|unhandlederrors?|exceptions?|faults?|failure)"
    r"(?:message|messages|msg|msgs|descriptions?|desc|codes?|info|text|types?|details?|strings?|reason|no|num|number|count|report|occurred)?"
    r"|(?:service)?exceptionreport|failed"
)
#: Flags of a thing that there is not, where they are true and where they are false.
_ABSENT, _PRESENT = frozenset({"notfound", "missing"}), frozenset({"found", "exists"})
#: Flags of an answer that is one, where they are true.
_SUCCESSES = frozenset({"success", "successful", "issuccess", "issuccessful", "succeeded", "ok", "isok"})
_STATES = lazy_pattern(
    r"(?:response|result|return|request|query|api|execution|overall)?(?:status(?:text|message|code)?|states?|stat|result|outcome|code)"
)
_FAILED = frozenset({
    "error", "err", "fail", "failed", "failure", "exception", "timeout", "timed_out", "partial_failure",
})  # fmt: skip
#: States of an answer that is not all, written as words are.
_PARTIAL = lazy_pattern(
    r"(?:partial|partially|incomplete)(?:success|successful|succeeded|results?|completed?|content)?"
)
#: Under what answers give a code or a state of their own.
_OWN = lazy_pattern(
    r"(?:response|result|return|request|query|api)?(?:status(?:code)?|state|stat|code)|cod|ret(?:code)?|rc|err(?:no|code)"
)
_TOKEN = lazy_pattern(r"[\w.+-]{1,40}")  # no sentence
#: Codes and states, and sentences beside them, of an answer behind the last one that is as it should be.
_NO_MORE = lazy_pattern(
    r"(?:no|zero|empty|end|last|done|complete|finish|ok|success|exhausted|nothing|null|eof).*|.*not?[_-]?(?:found|data|results?|records?|more|content)",
    re.IGNORECASE,
)
_NO_MORE_SAID = lazy_pattern(
    r"\b(?:(?:no|zero|0) (?:\w+ ){0,2}(?:data|results?|records?|rows?|items?|entries|match(?:es)?|content|pages?)|no more|nothing|empty|not found"
    r"|no (?:\w+ ){1,4}(?:found|left|available|exists?)|none|(?:the|at) end|end (?:of|reached)|last page|(?:invalid|no such) page|out of (?:range|bounds)|beyond)\b",
    re.IGNORECASE,
)
#: States that mean as much beside no records; beside some they may be those of a thing that has the records.
_REFUSED = lazy_pattern(
    r"fail|error|denied|over[ _-]\w*limit|limit[ _-]?(?:exceed|reach|hit)|rate[ _-]?limit|quota|throttl|time[ _-]?out|unavailable|invalid"
    r"|unauthori[sz]|forbidden|aborted|rejected|exception|not[ _-]?ok|bad[ _-]?request"
    r"|(?:token|session|login|auth|key|cursor)[ _-]?(?:is[ _-]|has[ _-])?expired|expired[ _-]?(?:token|session|login|auth|key|cursor)"
    r"|(?:un|not[ _-]?)authenticated|authenti\w+[ _-]?(?:is[ _-])?(?:required|needed)|(?:log|sign)[ _-]?in[ _-]?required|not[ _-]?(?:logged|signed)[ _-]?in",
    re.IGNORECASE,
)
_ALL_WELL = lazy_pattern(r"\b(?:no|0|without)[ _-](?:error|fail|exception|rate|quota)", re.IGNORECASE)
_CODES = frozenset({
    "status", "statuscode", "code", "cod", "httpstatus", "httpcode", "httpstatuscode", "responsecode",
    "resultcode",
})  # fmt: skip
_GOOD = frozenset({"0", "200", "204"})  # codes of answers that are as they should be
#: Flags of an answer that is not all, where they are true.
_PARTS = lazy_pattern(
    r"(?:is|has)?(?:partial|incomplete)(?:results?|response|success|failures?|content|data|rows|list|errors?|answer)?|resultsincomplete"
    r"|timedout|terminatedearly|(?:results?|response|data|rows|output|answer|list)truncated|failedshards|shardfailures"
    r"|(?:max(?:imum)?)?(?:rows?|results?|records?|items?|size|pages?|query|time|rate)?limit(?:exceeded|reached|hit)"
    r"|max(?:imum)?(?:rows?|results?|records?|items?)(?:exceeded|reached)"
)
#: What was left undone; so are these, where they hold anything.
_LEFT = frozenset({"unprocessedkeys", "unprocesseditems", "unprocessed"})
#: The same, where they are false.
_WHOLES = frozenset({"complete", "iscomplete", "jobcomplete", "resultscomplete"})
#: The same, unless the pages that follow are read: some sources say so of every page but the last.
_CUTS = frozenset({"truncated", "istruncated", "exceededtransferlimit"})
#: Objects that count what their search did not reach.
_COUNTS = {"shards": ("failed",), "clusters": ("failed", "skipped", "partial")}
#: Error codes that mean that there is nothing: OAI-PMH's.
_NO_RECORDS = frozenset({"noRecordsMatch"})
#: What sources write where nothing went wrong.
_NONE = frozenset({"", "0", "none", "null", "false", "no", "ok", "success", "n/a"})
#: OperationOutcome of FHIR.
_ISSUE, _SEVERE = "issue", frozenset({"error", "fatal"})
#: Where an answer without records may say in a sentence, and in nothing else, that it was refused.
_REMARKS = frozenset(
    {"message", "msg", "detail", "details", "note", "notice", "information", "reason", "warning"}
)
_REFUSAL = lazy_pattern(
    r"\b(?:rate[ -]?limit(?:ed|s? (?:was |is |has been )?(?:reached|exceeded|hit))|too many requests|quota (?:\w+ ){0,3}(?:exceeded|reached|used up|exhausted)"
    r"|throttled|unauthori[sz]ed|not authori[sz]ed|forbidden|access denied|permission denied|internal (?:server )?error"
    r"|(?:temporarily|service|currently) unavailable|timed out|under maintenance|try again later|NOTOK"
    r"|(?:invalid|missing|wrong|expired) (?:api[ -_]?)?(?:key|token|session|login|credentials?|cursor)"
    r"|(?:key|token|session|login|credentials?|cursor|subscription|licen[sc]e|trial|account) (?:(?:is|has|was|have|been|already) ){0,2}(?:expired|invalid)|time-?out"
    r"|please (?:re-?)?(?:(?:log|sign)[ -]?in|authenti\w+)|(?:log|sign)[ -]?in (?:again|(?:is )?required)|not (?:logged|signed) in|must (?:log|sign|be (?:logged|signed)) in"
    r"|(?:authenti\w+|authori[sz]ation) (?:is |has |was )?(?:required|needed|failed|missing|expired)|(?:un|not )authenticated|limit (?:was |is |has been )?(?:reached|exceeded)"
    r"|exceeded (?:your|the|its|\w+ limit))\b",
    re.IGNORECASE,
)
#: Where an answer with records may say in a sentence that they are not all.
_NOTES = _REMARKS | {
    "warnings", "messages", "notes", "notices", "comment", "comments", "status", "statusmessage",
}  # fmt: skip
_SHORTENED = lazy_pattern(
    r"(?<!not )(?<!not been )\b(?:truncated|limited to (?:the )?(?:first |top |maximum of )?\d[\d,]* (?:rows?|results?|records?|items?|entries|features|matches)(?! (?:per|a|each|for each|every)\b)"
    r"|(?:showing|returned|returning|displaying)?(?:\bonly )(?:the )?first \d[\d,]*|(?:partial|incomplete) (?:results?|response|answer)"
    r"|(?<!no )(?:more|additional|further) (?:results?|rows|records|items|data|matches) (?:are |is |were )?(?:available|exist|found)"
    r"|(?:results?|rows|records|response|answer) (?:is|are|was|were) (?:partial|incomplete))\b",
    re.IGNORECASE,
)
#: Where an object says in a sentence what went wrong.
_SENTENCES = (
    "message", "detail", "details", "description", "error_description", "error_message", "errmsg", "error_msg", "err_msg", "msg", "reason", "title",
    "diagnostics", "#text",
)  # fmt: skip
_INSIDE = (
    "meta", "metadata", "_meta", "info", "status", "header", "head", "responseHeader", "response_metadata", "result",
    "response", "pagination", "Body",
)  # fmt: skip
#: Formats whose answers have something around their records.
ENVELOPED = frozenset({"json", "xml"})


class SpokenVerdict(Struct, frozen=True):
    """The usual words of one answer, as they may be shown once the secrets are out of them."""

    fault: str | None = None  # what went wrong
    part: str | None = None  # that something is missing
    cut: str | None = None  # the same, unless a page follows
    nothing: bool = False  # that there are no records
    refusal: str | None = None  # that it went wrong, where there are no records
    #: Its own codes and states, by the names of the object and the member.
    own: tuple[tuple[tuple[str, str], str | int], ...] = ()
    sentence: str | None = None  # in words, whatever they mean


_SILENT = SpokenVerdict()
#: Fields of a header that say so in a sentence, and Virtuoso's by which it says so in a code and of a limit.
_IN_WORDS = frozenset({"warning", "x-sql-message"})
_STATE, _INTERRUPTED = "x-sql-state", "S1TAT"
_MOST_ROWS = "x-sparql-maxrows"  # the answer has as many rows as the server gives at most


def verdict_around(levels: Sequence[Mapping[str, Raw]]) -> SpokenVerdict:
    """What an answer says of itself in the objects around its records."""
    if not levels:
        return _SILENT
    words: dict[str, str] = {}
    own: dict[tuple[str, str], str | int] = {}
    sentence = None
    try:
        for container, members in around(levels, _INSIDE):
            for name, raw in members.items():
                word = normal(name)
                if _OWN.fullmatch(word) is not None and (value := _code(decode(raw))) is not None:
                    own.setdefault((container, name), value)
                kind = _kind(word, raw)
                if kind is not None:
                    words.setdefault(kind, f"{name}: {_words(raw)}")
            sentence = sentence or _sentence(members)
    except MalformedJSON:
        return SpokenVerdict()  # whoever reads the records says so
    for kind in ("fault", "refusal"):
        if kind in words and sentence is not None and sentence not in words[kind]:
            words[kind] = f"{words[kind]} ({sentence})"
    return SpokenVerdict(
        words.get("fault"),
        words.get("part"),
        words.get("cut"),
        "nothing" in words,
        words.get("refusal"),
        tuple(own.items()),
        sentence,
    )


def says_fault(name: str, raw: Raw) -> bool:
    """Whether a member says that something went wrong, or that there is no such thing."""
    word = normal(name)
    if word in _ABSENT:
        return decode(raw) is True
    if word in _PRESENT:
        return decode(raw) is False
    return _FAULTS.fullmatch(word) is not None and _says_something(decode(raw))


class OwnCodes:
    """What the answers of one reading give as their own codes and states, whatever these mean: 0 and `ok`, say, then 1003."""

    def __init__(self) -> None:
        self._beside_records: dict[tuple[str, str], set[str | int]] = {}

    def other(self, spoken: SpokenVerdict, records: int) -> str | None:
        """The one of an answer without records, where all that had some had another one: it is none of the usual end."""
        if records:
            for place, value in spoken.own:
                self._beside_records.setdefault(place, set()).add(value)
            return None
        for place, value in spoken.own:
            known = self._beside_records.get(place, ())
            if len(known) == 1 and value not in known and not _is_usual_end(value, spoken.sentence):
                more = "" if spoken.sentence is None else f" ({spoken.sentence})"
                return f"{place[1]}: {value}{more}"
        return None


def _code(value: object) -> str | int | None:
    """A number or one word; None of anything else."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if isinstance(value, str) and _TOKEN.fullmatch(value) else None


def _is_usual_end(value: str | int, sentence: str | None) -> bool:
    """Whether a code or a state, or the sentence beside it, says no more than that there is nothing (else)."""
    if str(value) in _GOOD or _NO_MORE.fullmatch(str(value)):
        return True
    return sentence is not None and _NO_MORE_SAID.search(sentence) is not None


def part_by(headers: Mapping[str, str]) -> str | None:
    """What says, beside an answer of any format, that it is not all."""
    for name in _telling(tuple(headers)):
        text = headers[name]
        if name in _IN_WORDS:
            is_part = _SHORTENED.search(text) is not None
        else:
            is_part = text == _INTERRUPTED if name == _STATE else _says_something(text)
        if is_part:
            return f"{name}: {text}"
    return None


def cut_by(headers: Mapping[str, str]) -> str | None:
    """The same, unless a page follows."""
    return f"{_MOST_ROWS}: {headers[_MOST_ROWS]}" if _MOST_ROWS in headers else None


@lru_cache(maxsize=1024)
def _telling(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Those of a header's fields that may say so: a source's answers mostly have the same fields."""
    return tuple(
        field
        for field in fields
        if field in _IN_WORDS or field == _STATE or _PARTS.fullmatch(normal(field.removeprefix("x-")))
    )


Judge: TypeAlias = Callable[[Response], Verdict | None]


class Rules:
    """Reads answers by a spec's `on_response`; the first rule that fits decides.

    `text` gives an answer, which is of a format, as JSON.
    """

    def __init__(
        self, rules: Sequence[spec.OnResponse], text: Callable[[Response], bytes], form: str
    ) -> None:
        self._rules = [(parse_path(rule.path, form), rule) for rule in rules]
        self._text = text

    def __call__(self, response: Response) -> Verdict | None:
        """What the answer says of itself; None where no rule fits."""
        try:
            body = self._text(response)
            for path, rule in self._rules:
                for place in walk(body, path):
                    if _fits(rule, decode(place)):
                        return Verdict(rule.action, f"{rule.path}: {_words(place)}")
        except (MalformedJSON, MalformedMarkupError, UnicodeDecodeError, RecursionError):
            pass  # whoever reads the records says so
        return None


def _fits(rule: spec.OnResponse, value: object) -> bool:
    return _is_same(value, rule.equals) if "equals" in rule.model_fields_set else bool(value)


def _is_same(one: object, other: object) -> bool:
    """Whether two JSON values are equal: true is not 1, and 1.0 is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(value, other[name]) for name, value in one.items())
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _kind(word: str, raw: Raw) -> str | None:
    """What a member around the records says of the answer."""
    if word in _CUTS:
        return "cut" if _says_something(decode(raw)) else None
    if _FAULTS.fullmatch(word) is not None:
        value = decode(raw)
        if isinstance(value, dict) and value.get("@code") in _NO_RECORDS:
            return "nothing"
        return "fault" if _says_something(value) else None
    if word in _SUCCESSES and _is_no(decode(raw)):
        return "fault"
    if word in _CODES and _is_bad_code(decode(raw)):
        return "fault"
    if _STATES.fullmatch(word) is not None:
        value = decode(raw)
        if isinstance(value, str) and _PARTIAL.fullmatch(normal(value)):
            return "part"
        return "fault" if _is_failed(value) else "refusal" if _is_refused(value) else None
    if word in _NOTES and any(_SHORTENED.search(one) for one in _texts(raw)):
        return "cut"
    if word in _REMARKS and kind_of(raw) == '"':
        return "refusal" if _REFUSAL.search(decode(raw, type=str)) else None
    if word == _ISSUE and any(one.get("severity") in _SEVERE for one in _objects(raw)):
        return "fault"
    if word in _WHOLES and _is_false(decode(raw)):
        return "part"
    if word in _LEFT and _says_something(decode(raw)):
        return "part"
    if (
        _PARTS.fullmatch(word) is not None
        and not isinstance(value := decode(raw), dict | list)
        and _says_something(value)
    ):
        return "part"
    if word in _COUNTS:
        value = decode(raw)
        if isinstance(value, dict) and any(_says_something(value.get(name)) for name in _COUNTS[word]):
            return "part"
    return None


def _objects(raw: Raw) -> list[Mapping[str, object]]:
    value = decode(raw)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _texts(raw: Raw) -> list[str]:
    """A sentence, or those of a list and of the objects in it."""
    value = decode(raw) if kind_of(raw) in '"[' else None
    sentences = (
        [text for name in _SENTENCES if isinstance(text := one.get(name), str)]
        if isinstance(one, dict)
        else [one]
        for one in (value if isinstance(value, list) else [value])
    )
    return [text for texts in sentences for text in texts if isinstance(text, str)]


def _says_something(value: object) -> bool:
    """Whether anything in a value says something."""
    if isinstance(value, dict):
        return any(map(_says_something, value.values()))
    if isinstance(value, list):
        return any(map(_says_something, value))
    return bool(value) and not (isinstance(value, str) and value.strip().lower() in _NONE)


def _is_false(value: object) -> bool:
    return value is False or (isinstance(value, str) and value.strip().lower() == "false")


def _is_no(value: object) -> bool:
    return _is_false(value) or (value == 0 and isinstance(value, int)) or value in ("0", "no", "N")


def _is_refused(value: object) -> bool:
    return isinstance(value, str) and _REFUSED.search(value) is not None and _ALL_WELL.search(value) is None


def _is_failed(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() in _FAILED


def _is_bad_code(value: object) -> bool:
    """Whether it is the status that the answer should have had."""
    number = int(value) if isinstance(value, str) and value.isascii() and value.isdecimal() else value
    return isinstance(number, int) and not isinstance(number, bool) and 400 <= number <= 599


def _words(raw: Raw) -> str:
    """A value in the words of its source: the sentence in it, where there is one."""
    value = decode(raw)
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, dict):
        sentence = next((first[name] for name in _SENTENCES if isinstance(first.get(name), str)), None)
        return bytes(raw).decode() if sentence is None else sentence
    return value if isinstance(value, str) else bytes(raw).decode()


def _sentence(members: Mapping[str, Raw]) -> str | None:
    for name in _SENTENCES:
        if name in members and isinstance(value := decode(members[name]), str) and value:
            return value
    return None
