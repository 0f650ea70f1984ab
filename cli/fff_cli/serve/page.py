"""The page that shows running queries: one text without anything from elsewhere, and the header that holds it to that."""

from __future__ import annotations

import base64
import hashlib

#: What a source or a client says is only ever set as text; the token stays in the tab.
SCRIPT = """
"use strict";
const byId = (id) => document.getElementById(id);
let token = location.hash.slice(1) || sessionStorage.getItem("fff-token") || "";
if (location.hash) history.replaceState(null, "", location.pathname);
const call = (method, path) =>
  fetch(path, {method, headers: token ? {Authorization: "Bearer " + token} : {}});
const cell = (row, text) => { const one = document.createElement("td"); one.textContent = text; row.append(one); };
function draw(queries) {
  const body = byId("queries");
  body.replaceChildren();
  for (const query of queries) {
    const row = document.createElement("tr");
    const access = (query.access || []).map((one) => one.name + " " + one.state + " " + one.requests).join(", ");
    for (const text of [query.sql, query.stopped ? "stopping" : query.phase, (query.elapsed_s || 0).toFixed(1),
                        query.rows || 0, query.requests || 0, query.missing || 0, access]) cell(row, text);
    const button = document.createElement("button");
    button.textContent = "stop";
    button.addEventListener("click", () => call("DELETE", "/v1/queries/" + encodeURIComponent(query.id)));
    const last = document.createElement("td");
    last.append(button);
    row.append(last);
    body.append(row);
  }
  byId("said").textContent = queries.length ? "" : "no query of yours is under way";
}
async function look() {
  try {
    const reply = await call("GET", "/v1/queries");
    byId("login").hidden = reply.status !== 401;
    if (reply.ok) draw(await reply.json());
    else byId("said").textContent = (await reply.json()).message;
  } catch (error) {
    byId("said").textContent = "the server does not answer";
  }
  setTimeout(look, 1000);
}
byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value;
  sessionStorage.setItem("fff-token", token);
});
look();
"""

STYLE = """
body { font: 15px/1.4 system-ui, sans-serif; margin: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #ccc; vertical-align: top; }
td:first-child { font-family: monospace; white-space: pre-wrap; max-width: 40rem; overflow-wrap: anywhere; }
"""


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fff serve</title><style>{STYLE}</style></head>
<body><h1>Queries under way</h1>
<form id="login" hidden><label>Token <input id="token" type="password" autocomplete="off"></label>
<button>show</button></form>
<p id="said" role="status"></p>
<table><thead><tr><th>SQL</th><th>phase</th><th>seconds</th><th>rows</th><th>requests</th><th>missing</th>
<th>access methods</th><th></th></tr></thead><tbody id="queries"></tbody></table>
<script>{SCRIPT}</script></body></html>
"""

HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hash(SCRIPT)}; style-src {_hash(STYLE)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
