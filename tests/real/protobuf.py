#!/usr/bin/env python3
"""Writes the protobuf messages of the built-in kinds for kubernetes/cluster/src/request/protobuf/table.rs.

Numbers and types are read from the API's generated.proto files; JSON names, inlining and pointers from its Go types.

usage: tests/real/protobuf.py >kubernetes/cluster/data/protobuf.txt     (in the root of the workspace, after tests/real/build)
"""
import glob
import json
import os
import re
import subprocess
import sys

M = os.path.join(subprocess.check_output(["go", "env", "GOMODCACHE"], text=True).strip(), "k8s.io/")
files=glob.glob(M+'api@v0.36.1/**/generated.proto',recursive=True)+glob.glob(M+'apimachinery@v0.36.1/**/generated.proto',recursive=True)+glob.glob(M+'apiextensions-apiserver@v0.36.1/**/generated.proto',recursive=True)+glob.glob(M+'kube-aggregator@v0.36.1/**/generated.proto',recursive=True)
msgs={}
gotags={}
for f in files:
    s=open(f).read()
    s=re.sub(r'//[^\n]*','',s)
    pkg=re.search(r'package ([\w.]+);',s).group(1)
    for m in re.finditer(r'message (\w+) \{(.*?)\n\}',s,re.S):
        fields=[]
        for l in m.group(2).split(';'):
            l=l.strip()
            mm=re.match(r'(optional|repeated)\s+([\w.]+)\s+(\w+)\s*=\s*(\d+)$',l) 
            if mm: fields.append((int(mm.group(4)),mm.group(3),mm.group(2),mm.group(1)=='repeated' and 'r' or '')); continue
            mm=re.match(r'map<string,\s*([\w.]+)>\s+(\w+)\s*=\s*(\d+)$',l)
            if mm: fields.append((int(mm.group(3)),mm.group(2),mm.group(1),'m')); continue
            if l: sys.exit(f'{pkg}.{m.group(1)}: cannot read {l!r}')
        msgs[pkg+'.'+m.group(1)]=(pkg,fields)
    # go tags
    d=os.path.dirname(f)
    for g in glob.glob(d+'/*.go'):
        if g.endswith('_test.go') or 'generated' in g or 'zz_' in g: continue
        cur=None
        for l in open(g):
            m=re.match(r'type (\w+) struct \{',l)
            if m: cur=m.group(1); continue
            if l.startswith('}'): cur=None
            if cur is None: continue
            m=re.match(r'\s+(.*?)`(.*)`',l)
            if not m: continue
            tags=m.group(2)
            j=re.search(r'json:"([^"]*)"',tags); p=re.search(r'protobuf:"[^",]*,(\d+)',tags)
            if not j or not p: continue
            parts=m.group(1).split()
            typ=parts[-1]
            jn=j.group(1).split(',')
            gotags[(pkg,cur,int(p.group(1)))]=(jn[0],'inline' in jn[1:] or (jn[0]=='' ),typ.startswith('*'),typ)
scalar={'string','bytes','bool','int32','int64','double','float','uint32','uint64'}
def resolve(pkg,t):
    if t in scalar: return t
    t=t.lstrip('.')
    if t.startswith('k8s.io'): return t
    return pkg+'.'+t
def short(n):
    return n.replace('k8s.io.apimachinery.pkg.apis.meta.v1.','meta.').replace('k8s.io.api.','').replace('k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.','apiextensions.').replace('k8s.io.kube_aggregator.pkg.apis.apiregistration.','apiregistration.').replace('k8s.io.apimachinery.pkg.','lib.')
# roots by discovery
disc=json.load(open('kubernetes/object/data/discovery.json'))
kinds=set()
for root in ('/api','/apis'):
    for it in disc[root]['items']:
        g=it.get('metadata',{}).get('name','') or ''
        for v in it['versions']:
            for r in v['resources']:
                for x in [r]+r.get('subresources',[]):
                    rk=x.get('responseKind') or {}
                    if not rk.get('kind'): continue
                    kinds.add((rk.get('group') or g, rk.get('version') or v['version'], rk['kind']))
                    if not rk.get('group'): kinds.add((g, v['version'], rk['kind']))
bykind={}
for n,(pkg,fs) in msgs.items():
    bykind.setdefault(n.rsplit('.',1)[1],[]).append(n)
special={'lib.api.resource.Quantity':'quantity','meta.Time':'time','meta.MicroTime':'microtime','meta.Timestamp':'time','lib.util.intstr.IntOrString':'intorstring','meta.FieldsV1':'json','lib.runtime.RawExtension':'json','apiextensions.v1.JSON':'json','meta.Duration':'duration','apiextensions.v1beta1.JSON':'json'}
out={}
roots={}
def pkgs_for(g,v):
    g0=g
    res=[]
    for pkg in set(p for p,_ in msgs.values()):
        parts=pkg.split('.')
        if parts[-1]!=v: continue
        name=parts[-2]
        dirname={'':'core'}.get(g,g.split('.')[0])
        if g=='flowcontrol.apiserver.k8s.io': dirname='flowcontrol'
        if g=='rbac.authorization.k8s.io': dirname='rbac'
        if g=='internal.apiserver.k8s.io': dirname='apiserverinternal'
        if name==dirname and 'meta' not in parts: res.append(pkg)
    return res
missing=[]
for g,v,k in sorted(kinds):
    c=[p+'.'+k for p in pkgs_for(g,v) if p+'.'+k in msgs]
    if c: roots[(g,v,k)]=c[0]
    else: missing.append((g,v,k))
if missing:
    sys.exit(f'no message for {missing}')
roots[('','v1','DeleteOptions')]='k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions'
todo=list(roots.values()); seen=set()
while todo:
    n=todo.pop()
    if n in seen or short(n) in special: continue
    seen.add(n)
    pkg,fs=msgs[n]
    lines=[]
    base=n.rsplit('.',1)[1]
    for num,name,t,rep in fs:
        t=resolve(pkg,t)
        tag=gotags.get((pkg,base,num))
        flags=rep
        jn=name
        if tag:
            if tag[1] and not rep: flags+='i'
            elif tag[0]: jn=tag[0]
            if tag[2]: flags+='p'
        else: missing.append((n,num,name))
        if t not in scalar:
            if t not in msgs: sys.exit(f'{n}: no message {t}')
            todo.append(t); 
            t=special.get(short(t),short(t))
        lines.append(f'{num} {jn} {t} {flags}'.rstrip())
    out[short(n)]=lines
res=[]
for (g,v,k),n in sorted(roots.items()):
    res.append(f'= {g}/{v} {k} {short(n)}' if g else f'= {v} {k} {short(n)}')
for n in sorted(out):
    res.append('# '+n); res+=out[n]
print('\n'.join(res))
