#!/usr/bin/env python3
"""Records authorization decisions of kube-apiserver for kubernetes/cluster/tests/access.rs.

usage: tests/real/access.py KUBECONFIG >kubernetes/cluster/tests/access/matrix.jsonl
"""
import base64
import json
import re
import ssl
import sys
import tempfile
import time
import urllib.request

kc = open(sys.argv[1]).read()
g=lambda k: base64.b64decode(re.search(k+r': (\S+)',kc).group(1))
server=re.search(r'server: (\S+)',kc).group(1).strip('"')
d=tempfile.mkdtemp()
for n,k in(('ca','certificate-authority-data'),('crt','client-certificate-data'),('key','client-key-data')): open(f'{d}/{n}','wb').write(g(k))
ctx=ssl.create_default_context(cafile=d+'/ca'); ctx.load_cert_chain(d+'/crt',d+'/key')
def call(m,p,b=None):
    r=urllib.request.Request(server+p,method=m,data=json.dumps(b).encode() if b is not None else None,headers={'Content-Type':'application/json'})
    try:
        with urllib.request.urlopen(r,context=ctx) as f: return f.status,json.load(f)
    except urllib.error.HTTPError as e: return e.code,json.load(e)
G='rbac.authorization.k8s.io'
R=lambda verbs,groups=None,res=None,names=None,urls=None:{k:v for k,v in dict(verbs=verbs,apiGroups=groups,resources=res,resourceNames=names,nonResourceURLs=urls).items() if v is not None}
objs=[]
def role(kind,ns,name,rules): objs.append({'apiVersion':G+'/v1','kind':kind,'metadata':{'name':name,**({'namespace':ns} if ns else {})},'rules':rules})
def bind(kind,ns,name,rk,rn,subjects): objs.append({'apiVersion':G+'/v1','kind':kind,'metadata':{'name':name,**({'namespace':ns} if ns else {})},'roleRef':{'apiGroup':G,'kind':rk,'name':rn},'subjects':subjects})
U=lambda n:{'kind':'User','apiGroup':G,'name':n}; GR=lambda n:{'kind':'Group','apiGroup':G,'name':n}; SA=lambda n,ns:{'kind':'ServiceAccount','name':n,'namespace':ns}
role('ClusterRole','','access-sub',[R(['get'],['apps'],['*/scale']),R(['patch'],['*'],['deployments/status'])])
role('ClusterRole','','access-named',[R(['get','update'],[''],['configmaps'],['one','two'])])
role('ClusterRole','','access-paths',[R(['get'],urls=['/logs/*','/metrics']),R(['*'],urls=['/debug*'])])
role('ClusterRole','','access-stars',[R(['*'],['batch'],['*']),R(['list'],['*'],['pods','nodes'])])
role('Role','access','local',[R(['create'],[''],['pods/exec','secrets'])])
for n in('sub','named','paths','stars'): bind('ClusterRoleBinding','','access-'+n,'ClusterRole','access-'+n,[U('access-'+n),GR('access:'+n)])
bind('RoleBinding','access','local','Role','local',[U('access-local'),SA('web','access')])
for n in('admin','edit','view'): bind('RoleBinding','access',n,'ClusterRole',n,[U('access-'+n)])
bind('RoleBinding','access','gone','Role','not-there',[U('access-gone')])
call('POST','/api/v1/namespaces',{'metadata':{'name':'access'}})
pl={'ClusterRole':'clusterroles','ClusterRoleBinding':'clusterrolebindings','Role':'roles','RoleBinding':'rolebindings'}
for o in objs:
    ns=o['metadata'].get('namespace')
    p=f"/apis/{G}/v1/"+(f'namespaces/{ns}/' if ns else '')+pl[o['kind']]
    c,b=call('POST',p,o); assert c in(201,409),b
time.sleep(2)  # kube-apiserver applies changed RBAC objects with a delay
users=[('access-sub',[]),('x',['access:sub']),('access-named',[]),('access-paths',[]),('access-stars',[]),('access-local',[]),('system:serviceaccount:access:web',['system:serviceaccounts','system:serviceaccounts:access']),('access-admin',[]),('access-edit',[]),('access-view',[]),('access-gone',[]),('system:kube-scheduler',[]),('system:kube-controller-manager',[]),('system:node:n1',['system:nodes']),('system:serviceaccount:kube-system:namespace-controller',['system:serviceaccounts']),('bob',['system:authenticated']),('root',['system:masters']),('system:anonymous',['system:unauthenticated'])]
res=[('get','','pods','','access',''),('list','','pods','','access',''),('list','','pods','','',''),('create','','pods','exec','access','p'),('create','','secrets','','access',''),('get','','secrets','','access','s'),('get','','configmaps','','access','one'),('update','','configmaps','','access','two'),('get','','configmaps','','access','three'),('get','','configmaps','','access',''),('delete','','configmaps','','default','one'),('get','apps','deployments','scale','access','d'),('get','apps','deployments','','access','d'),('patch','apps','deployments','status','access','d'),('patch','extensions','deployments','status','',''),('create','batch','jobs','','access',''),('deletecollection','batch','cronjobs','status','',''),('list','','nodes','','',''),('update','','nodes','status','','n1'),('create','coordination.k8s.io','leases','','kube-system',''),('create','authorization.k8s.io','selfsubjectaccessreviews','','',''),('create','authorization.k8s.io','subjectaccessreviews','','',''),('impersonate','','serviceaccounts','','access','web'),('escalate',G,'roles','','access','r'),('bind',G,'clusterroles','','access','view'),('create',G,'rolebindings','','access',''),('watch','','namespaces','','',''),('delete','','namespaces','','','access'),('*','*','*','','',''),('get','example.com','widgets','','access','w')]
paths=[('get','/healthz'),('get','/version'),('get','/version/'),('get','/api'),('get','/apis/apps/v1'),('get','/metrics'),('get','/metrics/cadvisor'),('get','/logs/a/b'),('get','/logs'),('post','/debug/pprof'),('get','/debugger'),('get','/openapi/v3'),('get','/')]
out=[]
for u,gs in users:
    for v,gr,r,s,ns,n in res:
        spec={'user':u,'groups':gs,'resourceAttributes':{k:x for k,x in dict(verb=v,group=gr,resource=r,subresource=s,namespace=ns,name=n).items() if x}}
        out.append(spec)
    for v,p in paths: out.append({'user':u,'groups':gs,'nonResourceAttributes':{'verb':v,'path':p}})
lines=[]
for spec in out:
    c,b=call('POST',f'/apis/authorization.k8s.io/v1/subjectaccessreviews',{'spec':spec})
    assert c==201,(c,b)
    st=b['status']
    # if several bindings apply, kube-apiserver names one in map order
    lines.append({'spec':spec,'allowed':st['allowed'],**({'reason':st['reason']} if not st['allowed'] and st.get('reason') else {})})
for line in [{'objects': objs}] + lines:
    print(json.dumps(line, separators=(',', ':')))
for o in objs:
    ns=o['metadata'].get('namespace')
    call('DELETE',f"/apis/{G}/v1/"+(f'namespaces/{ns}/' if ns else '')+pl[o['kind']]+'/'+o['metadata']['name'])
call('DELETE','/api/v1/namespaces/access')
