#!/usr/bin/env python3
"""Runs the integrations-manager of qontract-reconcile over examples/integrations and writes its output to examples/integrations/expected.

usage: tests/real/integrations.py QONTRACT_RECONCILE SERVER [CASE...]

QONTRACT_RECONCILE  folder of qontract-reconcile, with its requirements installed in this Python
SERVER              address of a qontract-server that serves the data without data/integrations/beyond: http://127.0.0.1:4000

The programs `helm` and `oc` must be in the PATH; of the latter, only `oc process --local` is used. The code of
qontract-reconcile computes values, parameters, objects, annotations and hashes. Commits of image refs, which it would
look up externally, come from expected/cases.json. A case consists of the manager's flags and environment.
"""
import json
import os
import pathlib
import sys

reconcile_folder, server = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2].rstrip("/")
expected = pathlib.Path(__file__).resolve().parent.parent / "examples" / "integrations" / "expected"
cases = json.loads((expected / "cases.json").read_text())
wanted = sys.argv[3:] or list(cases)

sys.path[:0] = [str(reconcile_folder), str(reconcile_folder / "qontract_utils"), str(reconcile_folder / "qontract_api_client")]
os.chdir(reconcile_folder)  # qontract-reconcile reads its chart from here

from reconcile import integrations_manager as manager  # noqa: E402
from reconcile import queries  # noqa: E402
from reconcile.gql_definitions.integrations import integrations  # noqa: E402
from reconcile.utils import gql  # noqa: E402
from reconcile.utils.runtime import sharding  # noqa: E402
from reconcile.utils.runtime.meta import IntegrationMeta  # noqa: E402

UPDATE = "qontract.update"  # the only annotation with a time
KEPT = ("PATH", "HOME", "TMPDIR", "LANG")  # variables that the programs need


def meta():
    """Returns the options of every integration from the command line of qontract-reconcile."""
    from reconcile.cli import get_integration_cli_meta

    return get_integration_cli_meta()


def write(path, data):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def strategies():
    kinds = (
        sharding.StaticShardingStrategy,
        sharding.AWSAccountShardingStrategy,
        sharding.OpenshiftClusterShardingStrategy,
        sharding.OCMOrganizationShardingStrategy,
    )
    return {kind.IDENTIFIER: kind() for kind in kinds}


def run(case, shards):
    """Does the same as `run` of qontract-reconcile, up to its first request to a cluster."""
    found = integrations.query(query_func=gql.get_api().query).integrations or []
    found = manager.filter_integrations(found, case.get("upstream"))
    upstream = case.get("upstream") or manager.UPSTREAM_DEFAULT
    image = case.get("image") or manager.IMAGE_DEFAULT
    for one in manager.collect_integrations_environment(found, case.get("environment"), shards):
        rendered = manager.helm.template(manager.build_helm_values(one.integration_specs))
        parameters = manager.collect_parameters(
            rendered, one.namespace.environment, upstream, image, case.get("imageTagFromRef")
        )
        resources = manager.construct_oc_resources(one, upstream, image, case.get("imageTagFromRef"))
        yield one, parameters, resources


def answer(name, case, shards):
    namespaces = []
    for one, parameters, resources in run(case, shards):
        place = one.namespace
        objects, index = [], []
        for resource in resources:
            body = resource.annotate().body
            del body["metadata"]["annotations"][UPDATE]
            objects.append(body)
            index.append([resource.kind, resource.name, resource.sha256sum()])
        namespaces.append({
            "path": place.path,
            "cluster": place.cluster.name,
            "namespace": place.name,
            "environment": place.environment.name,
            "values": json.loads(json.dumps(manager.build_helm_values(one.integration_specs), default=vars)),
            # In the format of `oc process NAME=VALUE`.
            "parameters": {key: f"{value}" for key, value in parameters.items()},
            "objects": index,
        })
        if case.get("whole"):
            write(expected / name / place.cluster.name / f"{place.name}.json", objects)
    write(expected / f"{name}.json", {"namespaces": namespaces})
    print(name, sum(len(n["objects"]) for n in namespaces), "objects", file=sys.stderr)


gql.init(f"{server}/graphql")
known = {name: IntegrationMeta(**data) if isinstance(data, dict) else data for name, data in meta().items()}
for name in wanted:
    case = cases[name]
    kept = {key: os.environ[key] for key in KEPT if key in os.environ}
    os.environ.clear()
    os.environ.update(kept | case.get("env", {}))
    length = queries.get_app_interface_settings()["hashLength"]
    manager.get_image_tag_from_ref = lambda ref, upstream: case["refs"][f"{upstream}@{ref}"][:length]
    answer(name, case, sharding.IntegrationShardManager(strategies(), known))
