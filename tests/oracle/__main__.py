import sys, time, collections
from .samples import database, name_of
from .walking import walk
from .comparing import Count
profile=sys.argv[1]; pats=sys.argv[2:]
t=time.time()
infos=[i for i in database() if not pats or any(p in name_of(i) for p in pats)]
print("import",time.time()-t); t=time.time()
total=Count(); kinds=collections.Counter()
for r in walk(infos,profile):
    total.add(r.count)
    seen=set()
    if r.broken: print("BROKEN",r.name,r.broken[-1500:])
    why=dict(r.excuses())
    for what,l in (("lie",r.lies),("chg",r.changed)):
        for label,(kind,text) in l:
            what2="lie" if what=="lie" else why[kind]
            kinds[what2,kind]+=1
            if (what2,kind) not in seen:
                seen.add((what2,kind)); print(what2,r.name,"|",label,"|",kind,"|",text[:260])
print(total); print(time.time()-t)
for k,n in kinds.most_common(): print(n,k)
