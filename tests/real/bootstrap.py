#!/usr/bin/env python3
"""Writes the initial objects of a new kube-apiserver, one per line, for kubernetes/cluster/src/bootstrap.rs.

usage: tests/real/bootstrap.py KUBECONFIG >kubernetes/cluster/data/bootstrap.txt     (of a new server started by tests/real/up)
"""
import json
import subprocess
import sys

KINDS = (
    "clusterroles,clusterrolebindings,roles,rolebindings,priorityclasses,flowschemas,prioritylevelconfigurations,"
    "servicecidrs,ipaddresses,services,configmaps,namespaces,serviceaccounts"
)
listed = subprocess.run(
    ["kubectl", "--kubeconfig", sys.argv[1], "get", KINDS, "-A", "-o", "json", "--show-managed-fields"],
    check=True, capture_output=True,
)
d = json.loads(listed.stdout)["items"]
plural={'ClusterRole':'clusterroles.rbac.authorization.k8s.io','ClusterRoleBinding':'clusterrolebindings.rbac.authorization.k8s.io','Role':'roles.rbac.authorization.k8s.io','RoleBinding':'rolebindings.rbac.authorization.k8s.io','PriorityClass':'priorityclasses.scheduling.k8s.io','FlowSchema':'flowschemas.flowcontrol.apiserver.k8s.io','PriorityLevelConfiguration':'prioritylevelconfigurations.flowcontrol.apiserver.k8s.io','ServiceCIDR':'servicecidrs.networking.k8s.io','IPAddress':'ipaddresses.networking.k8s.io','Service':'services','ConfigMap':'configmaps','Namespace':'namespaces','ServiceAccount':'serviceaccounts'}
NS=['default','kube-node-lease','kube-public','kube-system']
def keep(i):
    k=i['kind'];m=i['metadata'];n=m['name'];ns=m.get('namespace','')
    if k in('ClusterRole','ClusterRoleBinding','Role','RoleBinding'): return m.get('labels',{}).get('kubernetes.io/bootstrapping')=='rbac-defaults'
    if k in('PriorityClass',): return n.startswith('system-')
    if k in('FlowSchema','PriorityLevelConfiguration','ServiceCIDR'): return True
    if k=='IPAddress': return n=='10.0.0.1'
    if k=='Service': return (ns,n)==('default','kubernetes')
    if k=='Namespace': return n in NS
    if k=='ServiceAccount': return ns in NS and n=='default'
    if k=='ConfigMap': return ns in NS and n in('kube-root-ca.crt','extension-apiserver-authentication','kube-apiserver-legacy-service-account-token-tracking')
def times(v):
    if isinstance(v,dict):
        for k in v:
            if k in('time','lastTransitionTime','creationTimestamp') and isinstance(v[k],str): v[k]='@time@'
            else: times(v[k])
    elif isinstance(v,list):
        for x in v: times(x)
order=list(plural)
order=['Namespace','ServiceCIDR']+[k for k in order if k not in('Namespace','ServiceCIDR')]
out=[]
dump=lambda v: json.dumps(v,sort_keys=True,separators=(',',':'),ensure_ascii=False)
for i in sorted(filter(keep,d),key=lambda i:(order.index(i['kind']),i['metadata'].get('namespace',''),i['metadata']['name'])):
    times(i)
    m=i['metadata']; m['uid']='@uid@'; m.pop('resourceVersion')
    for k in('ca.crt','client-ca-file'):
        if k in i.get('data',{}): i['data'][k]='@authority@'
    if 'since' in i.get('data',{}): i['data']['since']='@date@'
    if i['kind']=='Service': i['spec']['ports'][0]['targetPort']=6443
    meta=dump(m)
    rest={k:v for k,v in i.items() if k not in('kind','apiVersion','metadata')}
    js='{"kind":"%s","apiVersion":"%s","metadata":%s,"resourceVersion":"@revision@"}'%(i['kind'],i['apiVersion'],meta[:-1])
    if rest: js+=','+dump(rest)[1:]
    else: js+='}'
    json.loads(js)
    out.append(' '.join([plural[i['kind']],m.get('namespace') or '-',m['name'],js]))
print('\n'.join(out))
