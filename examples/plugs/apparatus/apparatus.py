"""A minimal apparatus: creates an account for each plug, and deletes it when the plug is decoupled."""
import json
import os
from http.server import BaseHTTPRequestHandler, HTTPServer

accounts = {}


class Apparatus(BaseHTTPRequestHandler):
    def do_GET(self):  # /ping
        self.answer({})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        call = self.path.strip("/")
        if call == "config":
            return self.answer({"realm": "example", "accounts": len(accounts)})
        if call in ("coupled", "updated"):
            plug = body["plug"]["metadata"]
            accounts[plug["uid"]] = body["plugConfig"].get("account", plug["name"])
        if call == "decoupled":
            accounts.pop(body["plug"]["metadata"]["uid"], None)
        self.answer({})

    def answer(self, answer):
        text = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Apparatus).serve_forever()
