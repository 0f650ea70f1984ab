"""Every defence that SECURITY.md tells of, taken out: which words of which module stand in the place of which.

A test of a threat that passes without the defence tests nothing; `test_removed.py` runs those that are named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_NO_SECRET = "        if not self.named and not self.trusted:\n            raise SecretError("


@dataclass(frozen=True)
class Removed:
    """A defence, what its modules say without it, and the tests that fail then."""

    defence: str
    changes: Mapping[str, Sequence[tuple[str, str]]]
    tests: Sequence[str]


_TRUST = "tests/sources/test_trust.py::"
_FUZZED = "tests/sources/test_fuzzed_input.py::"
_REQUESTS = "fff_sources.http.request.requests"

SPECS = [
    Removed(
        "found specs get no secret",
        {"fff_sources.trust": [(_NO_SECRET, "        if False:\n            raise SecretError(")]},
        [
            _TRUST + "test_a_found_spec_gets_secrets_once_it_is_trusted",
            "tests/sources/test_logins.py::test_a_spec_found_in_the_working_folder_gets_no_login_before_it_is_trusted",
        ],
    ),
    Removed(
        "any change ends the trust",
        {
            "fff_sources.trust": [
                (
                    " self.entries().get(_key(document)) == document.digest",
                    " _key(document) in self.entries()",
                )
            ]
        },
        [_TRUST + "test_a_found_spec_gets_secrets_once_it_is_trusted"],
    ),
    Removed(
        "trust is of a file at its place",
        {
            "fff_sources.trust": [
                ("return str(Path(document.file).resolve())", "return Path(document.file).name")
            ]
        },
        [_TRUST + "test_a_copy_elsewhere_is_another_spec"],
    ),
    Removed(
        "files stay inside the folder of the spec",
        {"fff_sources.trust": [('kind == "file" and not self._is_near(name)', "False")]},
        [_TRUST + "test_a_file_outside_of_the_folder_needs_trust_also_where_the_spec_is_named"],
    ),
    Removed(
        "wherever links lead",
        {
            "fff_sources.trust": [
                (
                    "Path(name).expanduser()).resolve()",
                    "Path(os.path.abspath(self.document.folder / Path(name).expanduser())))",
                )
            ]
        },
        [_TRUST + "test_a_file_outside_of_the_folder_needs_trust_also_where_the_spec_is_named"],
    ),
    Removed(
        "tables of found specs stay inside their folder",
        {"fff_sources.trust": [("not self.named and not self._is_near(path)", "False")]},
        [
            _TRUST + "test_a_found_spec_reads_no_file_outside_of_its_folder",
            _TRUST + "test_a_found_spec_opens_no_database_that_knows_us",
        ],
    ),
    Removed(
        "found specs reach no server of databases",
        {"fff_sources.adbc.source": [("self._context.check_login()", "pass")]},
        [_TRUST + "test_a_found_spec_opens_no_database_that_knows_us"],
    ),
    Removed(
        "a warning where a bundled source is shadowed",
        {"fff_sources.adapter": [('return "" if self.standing is None', 'return "" if True')]},
        [_TRUST + "test_a_found_source_takes_no_bundled_ones_place_in_silence"],
    ),
    Removed(
        "bytes without sense are one error",
        {
            "fff_sources.document": [
                ("except (yaml.YAMLError, RecursionError, ValueError)", "except KeyError"),
                ("except UnicodeDecodeError as error", "except KeyError as error"),
            ]
        },
        [_FUZZED + "test_any_bytes_as_a_spec"],
    ),
    Removed(
        "anchors have a bound",
        # The rest is left out, for else it takes all memory there is.
        {
            "fff_sources.document": [
                (
                    'raise SpecError("too large when its anchors are written out", file=self._document.file)',
                    "return None",
                )
            ]
        },
        ["tests/sources/test_spec.py::test_anchors_that_explode_are_refused"],
    ),
    Removed(
        "damaged YAML is one error",
        {
            "fff_sources.document": [
                ("except yaml.MarkedYAMLError as error", "except KeyError as error"),
                ("except (yaml.YAMLError, RecursionError, ValueError)", "except KeyError"),
            ]
        },
        [_FUZZED + "test_a_damaged_spec"],
    ),
    Removed(
        "secrets go to declared hosts alone",
        {_REQUESTS: [("        if not own:", "        if ask.url is not None and not own:")]},
        [_TRUST + "test_secrets_go_to_the_hosts_of_the_source_alone"],
    ),
    Removed(
        "a host is compared as a whole",
        {_REQUESTS: [("url.startswith(f\"{host.base_url.rstrip('/')}/\")", "url.startswith(host.base_url)")]},
        [_TRUST + "test_a_host_that_begins_like_that_of_the_source_is_another"],
    ),
    Removed(
        "a login belongs to host, token endpoint and client",
        {
            "fff_sources.http.request.token_store": [
                ("json.dumps([source, *belongs_to])", "json.dumps([source])")
            ]
        },
        ["tests/sources/test_logins.py::test_another_host_of_the_same_name_does_not_get_the_token"],
    ),
    Removed(
        "what is remembered beside a result is signed",
        {"fff_cli.refresh.remembered": [("if not hmac.compare_digest(mac, _mac(data)):", "if False:")]},
        ["tests/cli/test_refresh.py::test_what_a_stranger_says_beside_a_file_is_not_run"],
    ),
]

_CLIENT, _WIRE = "tests/web/test_client.py::", "tests/sources/test_secrets_wire.py::"
_ROUTES = "tests/sources/test_routes.py::"
_ADDRESSES, _BREAKER = "tests/web/test_addresses.py::", "tests/web/test_breaker.py::"
_NONE_TAKEN_OUT = {
    "fff.web.secrets": [
        ("            if form in text:\n                text = text.replace(form, MASK)", "            pass"),
        (
            "            text = masked.sub(MASK, text)\n        return text",
            "            pass\n        return text",
        ),
    ]
}

SERVERS = [
    Removed(
        "redirects stay on allowed hosts",
        {"fff.web.client": [("if not host_allowed(target, req.policy.allowed_hosts):", "if False:")]},
        [_CLIENT + "test_a_redirect_to_another_host_is_refused"],
    ),
    Removed(
        "no credentials to another host",
        {
            "fff.web.client": [
                (
                    "credentials, policy = Credentials(), policy.elsewhere\n            headers = self.public_headers(headers)",
                    "pass",
                )
            ]
        },
        [_CLIENT + "test_an_allowed_host_is_followed_to_without_credentials"],
    ),
    Removed(
        "no headers with secrets to another host",
        {_REQUESTS: [("headers if own else self._client.public_headers(headers)", "headers")]},
        [_WIRE + "test_headers_with_secrets_stay_on_the_host"],
    ),
    Removed(
        "no body with secrets to another host",
        {_REQUESTS: [("        if not own:", "        if ask.url is None and not own:")]},
        [_WIRE + "test_a_body_with_secrets_stays_on_the_host"],
    ),
    Removed(
        "no client certificate to another host, and nothing for it through a socket",
        {"fff.web.types": [("return self if route == self.route else", "return self if True else")]},
        [
            _ROUTES + "test_a_client_certificate_is_shown_to_no_other_host",
            _ROUTES + "test_a_unix_socket_leads_to_no_other_host",
        ],
    ),
    Removed(
        "user names in links and redirects are taken off",
        {
            _REQUESTS: [("url = without_user(url)", "pass")],
            "fff.web.client": [("without_user(urljoin(base, location))", "urljoin(base, location)")],
        },
        [_WIRE + "test_a_server_does_not_choose_who_we_are"],
    ),
    Removed(
        "addresses are looked at after resolution",
        {"fff.web.transport": [("if private is not None:", "if False:")]},
        [
            _ADDRESSES + name
            for name in (
                "test_a_public_name_that_leads_inside_is_refused",
                "test_a_redirect_leads_inside_by_no_name",
                "test_one_private_address_among_public_ones_is_enough",
            )
        ],
    ),
    Removed(
        "all of them",
        {
            "fff.web.transport": [
                (
                    'for one in addresses if is_private_address(one["host"])',
                    'for one in addresses[:1] if is_private_address(one["host"])',
                )
            ]
        },
        [_ADDRESSES + "test_one_private_address_among_public_ones_is_enough"],
    ),
    Removed(
        "no second resolution",
        {
            "fff.web.transport": [
                (
                    "        return addresses\n",
                    "        return await self._inner.resolve(host, port, family)\n",
                )
            ]
        },
        [_ADDRESSES + "test_a_name_is_not_resolved_again_between_check_and_connect"],
    ),
    Removed(
        "secrets are taken out of texts",
        _NONE_TAKEN_OUT,
        [
            _WIRE + "test_no_error_tells_a_secret",
            *(f"tests/api/test_door_secrets.py::test_over_{door}" for door in ("http", "postgresql", "mcp")),
            "tests/web/test_secrets.py::test_a_secret_amid_others_is_removed_from_base64",
            "tests/web/test_secrets.py::test_what_was_written_in_another_way_is_removed_from_base64_as_well",
        ],
    ),
    Removed(
        "amid other text in base64",
        {
            "fff.web.spellings": [
                ("                yield from _amid(data, pack)\n\n", "                pass\n\n")
            ]
        },
        ["tests/web/test_secrets.py::test_a_secret_amid_others_is_removed_from_base64"],
    ),
    Removed(
        "in base64 of what was escaped",
        {"fff.web.spellings": [("forms |= set(_packed_as_a_part(secret))", "pass")]},
        ["tests/web/test_secrets.py::test_what_was_written_in_another_way_is_removed_from_base64_as_well"],
    ),
    Removed(
        "secrets go before a text is cut",
        {"fff.web.secrets": [("self.text(text)[: 8 * length]", "self.text(text[:length])")]},
        [_WIRE + "test_a_secret_is_not_cut_in_two_where_a_long_error_ends"],
    ),
    Removed(
        "nothing with a secret is kept on disk",
        {
            "fff.web.secrets": [
                (
                    "        if any(key in data for key in self._keys):\n            return True",
                    "        return False",
                )
            ]
        },
        [
            "tests/web/test_secrets.py::test_no_spelling_of_a_secret_is_kept_on_disk",
            "tests/cli/test_checkpoint.py::test_what_is_kept",
            "tests/engine/test_checkpoint_secrets.py::test_no_secret_is_in_a_checkpoint",
        ],
    ),
    Removed(
        "a cap on the ratio of decompression",
        {
            "fff.web.body": [
                ("if self._size > GRACE and self._size > self._max_ratio * self._wire", "if False"),
                ("_STEP = 2**18", "_STEP = 2**40"),
            ]
        },
        ["tests/web/test_body.py::test_a_bomb_is_met_before_it_fills_memory"],
    ),
    Removed(
        "a cap on size",
        {
            "fff.web.body": [
                ("if self._size > self._max_body:", "if False:"),
                ("if self._wire > self._max_body:", "if self._wire > 1_000 * self._max_body:"),
            ]
        },
        ["tests/web/test_adversity.py::test_an_endless_body_ends_at_the_cap"],
    ),
    Removed(
        "a cap on what columns expand to",
        {"fff_sources.http.columnar": [("if held > most:", "if False:")]},
        ["tests/sources/test_files.py::test_columns_of_a_file_that_expand_beyond_reason_are_refused"],
    ),
    Removed(
        "damaged zip files are one error",
        {"fff_sources.http.shaping": [("except NO_ZIP as error", "except KeyError as error")]},
        ["tests/sources/test_shaping.py::test_what_does_not_fit_is_told"],
    ),
    Removed(
        "a bound for an answer by its size",
        {"fff.web.transport": [("out.policy.total_timeout if out.seconds is None else out.seconds", "1e9")]},
        [_BREAKER + "test_the_bound_of_an_answer_fits_its_size"],
    ),
    Removed(
        "a bound for all attempts",
        {"fff.web.client": [("left = req.policy.total_timeout - spent", "left = 1e9")]},
        [_BREAKER + "test_one_request_takes_no_longer_than_its_bound_with_all_its_attempts"],
    ),
    Removed(
        "a circuit breaker",
        {
            "fff.web.gate.breaker": [
                ("self.given_up = now - self._opened >= self.patience", "self.given_up = False")
            ]
        },
        [
            _BREAKER + "test_a_host_that_never_answers_is_given_up_soon",
            _BREAKER + "test_a_host_that_keeps_everybody_waiting_holds_a_run_for_minutes_at_most",
        ],
    ),
    Removed(
        "rows beyond the limit of memory go to files",
        {"fff.runtime.memory": [("block.eddy.spill(self.files)", "pass")]},
        ["tests/engine/test_memory.py::test_rows_beyond_the_limit_go_to_files_and_the_bag_is_the_same"],
    ),
    Removed(
        "the limit of memory ends a run",
        {"fff.runtime.memory": [("        if used <= self.limit:", "        if True:")]},
        ["tests/engine/test_memory.py::test_without_files_the_limit_ends_the_run_with_a_reason"],
    ),
    Removed(
        "empty pages end what a total tells of",
        {
            "fff_sources.http.paging.consistency": [
                (
                    'self._none_new(_STALE, "empty pages in a row")',
                    'self._none_new(400, "empty pages in a row")',
                )
            ]
        },
        ["tests/sources/test_rest_wire.py::test_any_total_that_is_told_costs_nothing"],
    ),
    Removed(
        "header fields without sense say nothing",
        {"fff.web.gate.rate_limit_headers": [("except (ValueError, OverflowError):", "except KeyError:")]},
        [_FUZZED + "test_any_headers"],
    ),
    Removed(
        "retry.max_wait",
        {
            "fff.web.client": [("if again and wait is not None and wait > policy.max_wait:", "if False:")],
            "fff.web.gate.limiter": [("<= self._max_wait:", "<= 1e9:")],
        },
        [_CLIENT + "test_a_wait_longer_than_allowed_is_a_refusal"],
    ),
]

_VALUES = "tests/sources/test_hard_values.py::"

DATA = [
    Removed(
        "control characters are shown",
        {
            "fff_cli.output.values": [
                ('return "".join(_escaped(char) for char in text)', "return text"),
                ("not _obeyed(char)", "True"),
                ('if char in "\\n\\t" else _escaped(char)', "if True else char"),
            ]
        },
        ["tests/cli/test_process.py::test_source_text_cannot_drive_the_terminal"],
    ),
    Removed(
        "--safe-csv",
        {"fff_cli.output.formats": [("if self._text_cells and", "if False and")]},
        ["tests/cli/test_output.py::test_safe_csv_holds_no_formula"],
    ),
    Removed(
        "values are escaped in paths",
        {"fff_sources.http.templates": [('quote(text, safe="")', "text")]},
        [_VALUES + "test_keys_arrive_as_they_are"],
    ),
    Removed(
        "each key that names a host is looked at",
        {
            _REQUESTS: [
                ("            return None  # keys name the host", "            pass  # keys name the host")
            ]
        },
        [_TRUST + "test_every_key_is_asked_whether_it_names_the_host_of_the_source"],
    ),
    Removed(
        "documents nested beyond reason are one error",
        {"fff_sources.http.diagnosis": [("case RecursionError():", "case KeyError():")]},
        [_VALUES + "test_documents_that_are_too_much"],
    ),
    Removed(
        "no entities in XML",
        {"fff_sources.http.response.text.markup": [("if _declares_entities(body):", "if False:")]},
        [_VALUES + "test_documents_that_are_too_much"],
    ),
]

_DAMAGE, _RECORDING, _WARM = (
    "tests/engine/test_cache_damage.py::",
    "tests/web/test_recording.py::",
    "tests/spark/test_warm.py::",
)

USERS = [
    Removed(
        "files of the cache are their owner's",
        {
            "fff.access.disk.folder": [
                ("path.chmod(0o600)", "path.chmod(0o644)"),
                ("os.fchmod(number, 0o600)", "os.fchmod(number, 0o644)"),
            ]
        },
        [_DAMAGE + "test_what_is_kept_is_its_owners_alone_whatever_the_umask"],
    ),
    Removed(
        "recordings are their owner's",
        {"fff.web.recording": [("        path.chmod(0o600)", "        path.chmod(0o644)")]},
        [_RECORDING + "test_a_recording_is_its_owners_alone"],
    ),
    Removed(
        "damage of the cache is seen",
        {"fff.access.disk.store": [("entry.mac == self._mac(", "self._mac(")]},
        [_DAMAGE + "test_any_damage_of_a_scan_is_seen"],
    ),
    Removed(
        "a list of trusted specs that others can write to",
        {"fff_sources.trust": [("if about.st_uid != os.getuid() or about.st_mode & _OTHERS:", "if False:")]},
        [_TRUST + "test_a_store_that_is_not_ours_trusts_nobody"],
    ),
    Removed("recordings hold no secrets", _NONE_TAKEN_OUT, [_RECORDING + "test_no_secret_is_recorded"]),
    Removed(
        "a token for MCP over HTTP",
        {"fff_cli.mcp.server": [("hmac.compare_digest(authorization, self._wanted)", "True")]},
        ["tests/api/test_mcp.py::test_over_http_it_is_for_those_with_the_token"],
    ),
    Removed(
        "the folder of the Spark that stays up is one's own",
        {"fff.spark.start.warm": [("state.st_mode & 0o077 == 0", "True")]},
        [_WARM + "test_a_folder_that_others_can_look_into_is_none"],
    ),
    Removed(
        "its files are, too",
        # The keeper is not told of `FFF_WITHOUT` otherwise.
        {
            "fff.spark.start.keeper": [("        path.chmod(0o600)", "        path.chmod(0o666)")],
            "fff.spark.start.warm": [(" if _KNOWN.fullmatch(name)", "")],
        },
        [_WARM + "test_files_are_this_users_alone"],
    ),
    Removed(
        "the state of a login",
        {
            "fff_sources.http.request.logins": [
                ('hmac.compare_digest(params.get("state", "").encode(), state.encode())', '"code" in params')
            ]
        },
        ["tests/sources/test_logins.py::test_what_comes_without_the_state_is_no_login"],
    ),
]

SQL = [
    Removed(
        "nothing but a query reaches Spark",
        {"fff.spark.bridge": [("        check_is_query(self.spark, sql)", "        pass")]},
        ["tests/spark/test_only_queries.py::test_a_table_stays_as_it_is_whatever_the_statement"],
    ),
    Removed(
        "texts that the parser does not take are one error",
        {
            "fff.sql.syntax.parse": [
                ("except ParseError as error", "except ZeroDivisionError as error"),
                ("        SqlglotError,\n", ""),
            ]
        },
        ["tests/sql/test_garbage.py::test_any_text"],
    ),
    Removed(
        "agents name no files",
        {"fff_cli.mcp.agents": [("local_files=False", "local_files=True")]},
        ["tests/api/test_mcp.py::test_what_cannot_be_done_is_told_with_what_to_do"],
    ),
    Removed(
        "deep nesting is one error",
        {
            "fff.sql.syntax.parse": [("except RecursionError as error", "except KeyError as error")],
        },
        ["tests/sql/test_garbage.py::test_deep_nesting"],
    ),
]

_SERVE, _PROCESS, _POSTGRES = (
    "tests/api/test_serve.py::",
    "tests/api/test_serve_process.py::",
    "tests/api/test_postgres_door.py::",
)

CLIENTS = [
    Removed(
        "a token for the server",
        {"fff_cli.serve.web": [('hmac.compare_digest(authorization, b"Bearer " + token)', "True")]},
        [_SERVE + "test_only_those_with_the_token_and_the_right_name_may_ask"],
    ),
    Removed(
        "the Host header",
        {"fff_cli.serve.web": [("if name in self._hosts or _is_address(name):", "if True:")]},
        [_SERVE + "test_only_those_with_the_token_and_the_right_name_may_ask"],
    ),
    Removed(
        "TLS for other addresses",
        {"fff_cli.serve.door": [("if not _is_loopback(where.host) and not where.without_tls:", "if False:")]},
        [_PROCESS + "test_other_addresses_need_tls_and_tokens_need_strength"],
    ),
    Removed(
        "tokens have strength",
        {"fff_cli.serve.tokens": [("if len(token) < _LEAST or", "if")]},
        [_PROCESS + "test_other_addresses_need_tls_and_tokens_need_strength"],
    ),
    Removed(
        "TLS is spoken",
        {"fff_cli.serve.web": [("ssl_context=tls)", "ssl_context=None)")]},
        [_PROCESS + "test_over_tls"],
    ),
    Removed(
        "the socket is its owner's",
        {"fff_cli.serve.door": [("os.umask(0o177)", "os.umask(0)")]},
        [_PROCESS + "test_a_client_loads_neither_the_engine_nor_arrow"],
    ),
    Removed(
        "a socket takes nobody's place",
        {
            "fff_cli.serve.door": [
                ("if not stat.S_ISSOCK(there.st_mode):", "if False:"),
                ("    _check_free(path)\n", ""),
            ]
        },
        [_PROCESS + "test_a_socket_takes_no_other_file_s_place"],
    ),
    Removed(
        "a client's errors hold no traceback",
        {
            "fff_cli.serve.web": [
                ("except (ValueError, LookupError, RecursionError) as error:", "except KeyError as error:")
            ]
        },
        [_SERVE + "test_hostile_requests_get_one_error_and_no_traceback"],
    ),
    Removed(
        "queries belong to clients",
        {
            "fff_cli.serve.queries": [
                ("if one.client == client]", "]"),
                ("served is not None and served.client == client", "served is not None"),
            ]
        },
        [_SERVE + "test_clients_see_and_stop_their_own_queries_alone"],
    ),
    Removed(
        "so many queries for each client",
        {"fff_cli.serve.queries": [("if len(self.of(client)) >= self.limits.concurrent:", "if False:")]},
        [_SERVE + "test_clients_see_and_stop_their_own_queries_alone"],
    ),
    Removed(
        "a client spends no more than it may",
        {
            "fff_cli.serve.queries": [
                ("max_requests=min(requests, default=None)", "max_requests=options.max_requests")
            ]
        },
        [_SERVE + "test_a_client_can_spend_less_than_the_server_allows_and_never_more"],
    ),
    Removed(
        "who goes away stops theirs",
        {"fff_cli.serve.web": [("handler_cancellation=True", "handler_cancellation=False")]},
        [_SERVE + "test_a_client_that_goes_away_stops_its_query"],
    ),
    Removed(
        "the catalog takes SELECT alone",
        {"fff_cli.postgres.catalog": [("if not _only_reads(sql):", "if False:")]},
        [_POSTGRES + "test_the_catalog_shows_tables_and_reaches_nothing_else"],
    ),
    Removed(
        "the catalog reads no file",
        {
            "fff_cli.output.sinks.duck": [
                ('"enable_external_access": "false"', '"enable_external_access": "true"')
            ]
        },
        [_POSTGRES + "test_the_catalog_shows_tables_and_reaches_nothing_else"],
    ),
    Removed(
        "messages of PostgreSQL's protocol have a size",
        {"fff_cli.postgres.wire": [("if not 4 <= size <= _MESSAGE_BYTES:", "if False:")]},
        [_POSTGRES + "test_who_does_not_speak_the_protocol_is_told_so_and_shown_out"],
    ),
    Removed(
        "the token is the password",
        {"fff_cli.postgres.door": [("if hmac.compare_digest(password, token):", "if True:")]},
        [_POSTGRES + "test_only_those_with_the_token_may_ask"],
    ),
    Removed(
        "text is set as text in the page",
        {"fff_cli.serve.page": [("one.textContent = text", "one.innerHTML = text")]},
        [_SERVE + "test_the_page_holds_itself_to_itself"],
    ),
]

REMOVED = [*SPECS, *SERVERS, *DATA, *USERS, *SQL, *CLIENTS]
