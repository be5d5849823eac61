"""The HTTP kit: what every service of ours has around its own routes (extra `http`).

app = Service(router, Limits(), metrics=Metrics.create())      # any ASGI app: Starlette's, or raw
serve(app, Listen("127.0.0.1", 8080), ready=print)             # until SIGTERM or Ctrl-C

| module | noun |
|---|---|
| `settings` | `Listen` (address, certificate), `Limits` (bytes, seconds, counts); needs no extra |
| `service` | `Service`: the kit around an app: health, metrics, token, gate, deadline |
| `answer` | `Problem`: raise it anywhere for `{"code", "message"}`; `send_json` for raw ASGI apps |
| `body` | `read_body(scope, receive, limits)`: whole, bounded, unpacked where it is gzip |
| `token` | the bearer token, from a file or the environment |
| `host` | the names that a service may be asked by: no web page reaches it by DNS |
| `gate` | how many requests work and wait; the rest gets 503 with Retry-After |
| `workers` | `Workers.run(work)`: work that blocks, in threads that no deadline waits for |
| `protocol` | deadlines for slow senders and slow readers, and a bound on connections |
| `server` | `serve` until a signal; `serving` in a thread, for tests and hosts |
| `client` | `Client`: the other direction, for webhooks and transports |

An app reports what went wrong by raising `Problem(404, "NoSuchFile", "…")`; every other answer of
404, 405, 413, 500 and so on has the same form. `SingerlakeError`s become 503 where a retry helps,
and 500 otherwise, without their text: it may name what a stranger must not know. A route's name
for metrics is Starlette's, or `scope["route_name"]` where a raw app sets it.
"""
