"""Makes `references.tsv`: function, width, arguments as bits, the exact result as f64 bits (nearest)."""
import struct, random
from mpmath import *
mp.dps = 60
random.seed(7)
def d(x): return struct.unpack('>Q', struct.pack('>d', x))[0]
def undi(b): return struct.unpack('>d', struct.pack('>Q', b))[0]
def f(x): return struct.unpack('>I', struct.pack('>f', x))[0]
def unf(b): return struct.unpack('>f', struct.pack('>I', b))[0]
def erfcx(x):
    if x > 40:
        s=t=mpf(1)
        for k in range(1,80):
            t=t*-(2*k-1)/(2*x*x)
            if abs(t)<mpf(10)**-45: break
            s+=t
        return s/(x*sqrt(pi))
    return exp(x*x)*erfc(x)
def erfcinv_(y):
    if y > 1: return -erfcinv_(2-y)
    x = sqrt(-log(y)) if y < mpf("0.5") else (1-y)*sqrt(pi)/2
    for _ in range(100):
        if y > mpf("0.5"): step=(erf(x)-(1-y))/(2/sqrt(pi)*exp(-x*x))
        else: step=(log(erfc(x))-log(y))/(-2/sqrt(pi)*exp(-x*x)/erfc(x))
        x-=step
        if abs(step)<mpf(10)**-45*abs(x) or step==0: break
    return x
def U(a,b): return lambda: random.uniform(a,b)
def L(a,b,neg=True):
    "log-uniform magnitude 2^a..2^b"
    return lambda: random.choice([-1,1] if neg else [1])*2.0**random.uniform(a,b)
def mix(*gs): return lambda: random.choice(gs)()
N=40
F={
 'exp':(exp,[mix(U(-88,88),L(-30,3))],[mix(U(-745,709),L(-60,3))]),
 'exp2':(lambda x: mpf(2)**x,[mix(U(-149,128),L(-30,3))],[mix(U(-1074,1023),L(-60,3))]),
 'exp10':(lambda x: mpf(10)**x,[mix(U(-44,38),L(-30,3))],[mix(U(-322,308),L(-60,3))]),
 'expm1':(expm1,[mix(U(-20,88),L(-40,3))],[mix(U(-40,709),L(-60,3))]),
 'log':(log,[mix(L(-148,127,0),U(.5,2))],[mix(L(-1073,1023,0),U(.5,2))]),
 'log2':(lambda x: log(x)/log(2),[mix(L(-148,127,0),U(.5,2))],[mix(L(-1073,1023,0),U(.5,2))]),
 'log10':(log10,[mix(L(-148,127,0),U(.5,2))],[mix(L(-1073,1023,0),U(.5,2))]),
 'log1p':(log1p,[mix(L(-140,127,0),U(-.99,2),L(-30,-1))],[mix(L(-1000,1023,0),U(-.99,2),L(-60,-1))]),
 'sin':(sin,[mix(U(-10,10),L(-140,127),L(5,40))],[mix(U(-10,10),L(-1000,1023),L(5,70))]),
 'cos':(cos,[mix(U(-10,10),L(-140,127),L(5,40))],[mix(U(-10,10),L(-1000,1023),L(5,70))]),
 'tan':(tan,[mix(U(-10,10),L(-140,127),L(5,40))],[mix(U(-10,10),L(-1000,1023),L(5,70))]),
 'sinpi':(sinpi,[mix(U(-10,10),L(-60,22))],[mix(U(-10,10),L(-60,50))]),
 'cospi':(cospi,[mix(U(-10,10),L(-60,22))],[mix(U(-10,10),L(-60,50))]),
 'asin':(asin,[mix(U(-1,1),L(-60,0))],[mix(U(-1,1),L(-60,0))]),
 'acos':(acos,[mix(U(-1,1),L(-60,0))],[mix(U(-1,1),L(-60,0))]),
 'atan':(atan,[mix(U(-2,2),L(-120,120))],[mix(U(-2,2),L(-1000,1000))]),
 'sinh':(sinh,[mix(U(-88,88),L(-60,2),U(-2,2))],[mix(U(-709,709),L(-60,2),U(-2,2))]),
 'cosh':(cosh,[mix(U(-88,88),L(-60,2),U(-2,2))],[mix(U(-709,709),L(-60,2),U(-2,2))]),
 'tanh':(tanh,[mix(U(-10,10),L(-60,2),U(-1,1))],[mix(U(-20,20),L(-60,2),U(-1,1))]),
 'asinh':(asinh,[mix(U(-10,10),L(-100,120))],[mix(U(-10,10),L(-900,1000))]),
 'acosh':(acosh,[mix(U(1,3),U(1,100),L(0,120,0))],[mix(U(1,3),U(1,100),L(0,1000,0))]),
 'atanh':(atanh,[mix(U(-1,1),L(-100,0))],[mix(U(-1,1),L(-900,0))]),
 'cbrt':(lambda x: sign(x)*cbrt(abs(x)),[L(-148,127)],[L(-1073,1023)]),
 'rcbrt':(lambda x: sign(x)/cbrt(abs(x)),[L(-148,127)],[L(-1073,1023)]),
 'rsqrt':(lambda x: 1/sqrt(x),[L(-148,127,0)],[L(-1073,1023,0)]),
 'erf':(erf,[mix(U(-5,5),L(-100,2))],[mix(U(-7,7),L(-900,2))]),
 'erfc':(erfc,[mix(U(-5,10),L(-30,3))],[mix(U(-7,26.5),L(-60,4))]),
 'erfcx':(erfcx,[mix(U(-9,20),L(-30,20,0))],[mix(U(-26,60),L(-60,60,0))]),
 'normcdf':(lambda x: erfc(-x/sqrt(mpf(2)))/2,[mix(U(-13,5),L(-30,3))],[mix(U(-37,7),L(-60,4))]),
 'erfinv':(lambda y: sign(y)*erfcinv_(1-abs(y)),[mix(U(-1,1),L(-60,-1),lambda:1-2.0**random.uniform(-23,-2))],[mix(U(-1,1),L(-60,-1),lambda:1-2.0**random.uniform(-52,-2))]),
 'erfcinv':(erfcinv_,[mix(U(0,2),L(-140,0,0))],[mix(U(0,2),L(-1060,0,0))]),
 'normcdfinv':(lambda p: -sqrt(mpf(2))*erfcinv_(2*p),[mix(U(0,1),L(-140,-1,0))],[mix(U(0,1),L(-1060,-1,0))]),
 'lgamma':(lambda x: re(loggamma(x)) if x>0 else log(abs(gamma(x))),[mix(U(0.01,20),L(-60,100),U(-10,-3))],[mix(U(0.01,20),L(-200,600,0),L(-200,-2),U(-30,-5))]),
 'tgamma':(gamma,[mix(U(-6,34),L(-100,3),U(-40,0))],[mix(U(-14,14),U(0,171),L(-900,3),U(-169,0))]),
 'j0':(lambda x: besselj(0,x),[mix(U(-30,30),L(-20,10))],[mix(U(-30,30),L(-20,14))]),
 'j1':(lambda x: besselj(1,x),[mix(U(-30,30),L(-20,10))],[mix(U(-30,30),L(-20,14))]),
 'y0':(lambda x: bessely(0,x),[mix(U(0,30),L(-60,10,0))],[mix(U(0,30),L(-300,14,0))]),
 'y1':(lambda x: bessely(1,x),[mix(U(0,30),L(-60,10,0))],[mix(U(0,30),L(-300,14,0))]),
 'cyl_bessel_i0':(lambda x: besseli(0,x),[mix(U(-80,80),L(-20,6))],[mix(U(-700,700),L(-20,6))]),
 'cyl_bessel_i1':(lambda x: besseli(1,x),[mix(U(-80,80),L(-20,6))],[mix(U(-700,700),L(-20,6))]),
 'atan2':(atan2,[L(-20,20),L(-20,20)],[L(-40,40),L(-40,40)]),
 'hypot':(lambda x,y: sqrt(x*x+y*y),[L(-148,126),L(-148,126)],[L(-1070,1022),L(-1070,1022)]),
 'rhypot':(lambda x,y: 1/sqrt(x*x+y*y),[L(-120,120),L(-120,120)],[L(-1000,1000),L(-1000,1000)]),
 'norm3d':(lambda x,y,z: sqrt(x*x+y*y+z*z),[L(-10,10)]*3,[L(-10,10)]*3),
 'norm4d':(lambda x,y,z,w: sqrt(x*x+y*y+z*z+w*w),[L(-10,10)]*4,[L(-10,10)]*4),
 'rnorm3d':(lambda x,y,z: 1/sqrt(x*x+y*y+z*z),[L(-10,10)]*3,[L(-10,10)]*3),
 'rnorm4d':(lambda x,y,z,w: 1/sqrt(x*x+y*y+z*z+w*w),[L(-10,10)]*4,[L(-10,10)]*4),
 'pow':(lambda x,y: x**y,[mix(L(-20,20,0),U(.9,1.1)),mix(U(-6,6),L(-20,2))],[mix(L(-100,100,0),U(.9,1.1)),mix(U(-9,9),L(-40,3))]),
}
for name,(fn,gn,gw) in F.items():
    for width,gens in ((32,gn),(64,gw)):
        n=0
        while n<N:
            xs=[g() for g in gens]
            try:
                if width==32: bits=[f(x) for x in xs]; xs=[unf(b) for b in bits]
                else: bits=[d(x) for x in xs]
                r=fn(*[mpf(x) for x in xs])
                if isinstance(r, mpc): continue
                r=float(r)
            except Exception: continue
            if r!=r or abs(r)==float('inf'): continue
            if width==32 and abs(r)>3.4e38: continue
            print(name,width,*[format(b,'x') for b in bits],format(d(r),'016x')); n+=1
