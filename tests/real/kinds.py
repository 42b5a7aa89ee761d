#!/usr/bin/env python3
"""Sends the cases of kubernetes/cluster/tests/kinds to kube-apiserver and rewrites their recorded answers.

usage: tests/real/kinds.py KUBECONFIG [PART-OF-A-CASE-NAME]

A new case is a file with `create` (and `world`, `then` with `merge` and `subresource`); this script adds the rest.
The server must run without kube-controller-manager, which would change the answers.
"""
import base64
import copy
import glob
import json
import re
import ssl
import sys
import tempfile
import time
import urllib.request

config = open(sys.argv[1]).read()
wanted = sys.argv[2] if len(sys.argv) > 2 else ""
folder = tempfile.mkdtemp()
for name, key in (("ca", "certificate-authority-data"), ("crt", "client-certificate-data"), ("key", "client-key-data")):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(base64.b64decode(re.search(key + r": (\S+)", config).group(1)))
server = re.search(r"server: (\S+)", config).group(1).strip('"')
tls = ssl.create_default_context(cafile=folder + "/ca")
tls.load_cert_chain(folder + "/crt", folder + "/key")

resources = {}
for page in json.load(open("kubernetes/object/data/discovery.json")).values():
    for group in page["items"]:
        for version in group["versions"]:
            name = group["metadata"].get("name", "")
            api = f"{name}/{version['version']}" if name else version["version"]
            for r in version["resources"]:
                base = f"/apis/{api}" if name else f"/api/{api}"
                resources[api, r["responseKind"]["kind"]] = base, r["resource"], r["scope"] == "Namespaced"


def call(method, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(server + path, method=method, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, context=tls) as answer:
            return answer.status, json.load(answer), answer.headers.get_all("Warning") or []
    except urllib.error.HTTPError as refused:
        return refused.code, json.load(refused), refused.headers.get_all("Warning") or []


def path(o):
    base, plural, namespaced = resources[o["apiVersion"], o["kind"]]
    return base + ("/namespaces/kinds" if namespaced else "") + "/" + plural


def warnings(headers):
    return [re.match(r'^299 - "(.*)"$', h).group(1).replace('\\"', '"').replace("\\\\", "\\") for h in headers]


def masked(answer, case, uid=None):
    answer = copy.deepcopy(answer)
    metadata = answer.get("metadata", {})
    uid = metadata.get("uid") or uid
    for key in ("managedFields", "resourceVersion"):
        metadata.pop(key, None)
    text, given = json.dumps(answer), json.dumps([case["create"], [s["merge"] for s in case.get("then", [])]])
    found = re.search(r"controller-uid[^0-9a-f]{1,8}([0-9a-f]{8}-[0-9a-f-]{27})", text)
    uid = uid or (found.group(1) if found else None)
    if uid:
        text = text.replace(uid, "UID")
    text = re.sub(r'"20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"', lambda t: t[0] if t[0] in given else '"TIME"', text)
    text = re.sub(r"X509SHA256=[0-9a-f]+", "X509SHA256=MASKED", text)
    text = re.sub(r"kube-api-access-[a-z0-9]{5}", "kube-api-access-XXXXX", text)
    text = re.sub(r'"10\.0\.0\.\d+"', lambda t: t[0] if t[0] in given else '"10.0.0.X"', text)
    port = r'("(?:nodePort|healthCheckNodePort)": )(3\d{4})'
    return json.loads(re.sub(port, lambda t: t[0] if t[2] in given else t[1] + "30000", text))


def merge(target, patch):
    if not isinstance(patch, dict):
        return patch
    target = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


def remove(o, name):
    call("DELETE", f"{path(o)}/{name}?gracePeriodSeconds=0")
    if o["kind"] == "Namespace":
        call("PUT", f"{path(o)}/{name}/finalize", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    _, left, _ = call("GET", f"{path(o)}/{name}")
    if left.get("metadata", {}).get("finalizers"):
        left["metadata"]["finalizers"] = None
        call("PUT", f"{path(o)}/{name}", left)


def record(case):
    for o in case.get("world", []):
        call("POST", path(o), o)
    if case.get("world"):
        time.sleep(1.5)  # admission plugins read through caches
    made = case["create"]
    code, live, heard = call("POST", path(made), made)
    case.update(answer=masked(live, case), warnings=warnings(heard))
    if code == 201:
        name = live["metadata"]["name"]
        for step in case.get("then", []):
            part = "/" + step["subresource"] if step.get("subresource") else ""
            code, answer, heard = call("PUT", f"{path(made)}/{name}{part}", merge(live, step["merge"]))
            step.update(answer=masked(answer, case, live["metadata"].get("uid")), warnings=warnings(heard))
            live = answer if code == 200 else live
        remove(made, name)
    for o in case.get("world", []):
        remove(o, o["metadata"]["name"])


call("POST", "/api/v1/namespaces", {"metadata": {"name": "kinds"}})
call("POST", "/api/v1/namespaces/kinds/serviceaccounts", {"metadata": {"name": "default"}})
for file in sorted(glob.glob(f"kubernetes/cluster/tests/kinds/*{wanted}*.json")):
    case = json.load(open(file))
    record(case)
    with open(file, "w") as out:
        out.write(json.dumps(case, indent=1, sort_keys=True) + "\n")
