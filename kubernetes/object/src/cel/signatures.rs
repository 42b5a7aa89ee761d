//! Functions available to rules, with their types.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// Overload of a function.
#[derive(Debug)]
pub(super) struct FunctionSignature {
    pub member: bool,
    pub parameters: Vec<&'static str>,
    pub result: &'static str,
}

/// Returns all overloads of a function.
pub(super) fn signatures_of(name: &str) -> Option<&'static [FunctionSignature]> {
    static TABLE: OnceLock<BTreeMap<&'static str, Vec<FunctionSignature>>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let mut table: BTreeMap<&'static str, Vec<FunctionSignature>> = BTreeMap::new();
        for line in SIGNATURES.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let mut words = line.split(' ');
            let (Some(how), Some(names), Some(parameters), Some(result)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            for name in names.split('|') {
                let parameters = split_top(parameters);
                table.entry(name).or_default().push(FunctionSignature { member: how == "m", parameters, result });
            }
        }
        table
    });
    table.get(name).map(Vec::as_slice)
}

/// Splits at commas outside angle brackets.
fn split_top(text: &'static str) -> Vec<&'static str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts.retain(|part| *part != "-");
    parts
}

/// Marks: `g` is called by name, `m` on its first parameter; `-` means no parameter; `a|b` are two names.
const SIGNATURES: &str = "
g _&&_|_||_ bool,bool bool
g !_ bool bool
g _?_:_ bool,A,A A
g _==_|_!=_ A,A bool
g @not_strictly_false bool bool
g _<_|_<=_|_>_|_>=_ bool,bool bool
g _<_|_<=_|_>_|_>=_ int,int bool
g _<_|_<=_|_>_|_>=_ int,uint bool
g _<_|_<=_|_>_|_>=_ int,double bool
g _<_|_<=_|_>_|_>=_ uint,uint bool
g _<_|_<=_|_>_|_>=_ uint,int bool
g _<_|_<=_|_>_|_>=_ uint,double bool
g _<_|_<=_|_>_|_>=_ double,double bool
g _<_|_<=_|_>_|_>=_ double,int bool
g _<_|_<=_|_>_|_>=_ double,uint bool
g _<_|_<=_|_>_|_>=_ string,string bool
g _<_|_<=_|_>_|_>=_ bytes,bytes bool
g _<_|_<=_|_>_|_>=_ timestamp,timestamp bool
g _<_|_<=_|_>_|_>=_ duration,duration bool
g _+_|_-_|_*_|_/_|_%_ int,int int
g _+_|_-_|_*_|_/_|_%_ uint,uint uint
g _+_|_-_|_*_|_/_ double,double double
g _+_ string,string string
g _+_ bytes,bytes bytes
g _+_ list<A>,list<A> list<A>
g _+_|_-_ duration,duration duration
g _+_|_-_ timestamp,duration timestamp
g _+_ duration,timestamp timestamp
g _-_ timestamp,timestamp duration
g -_ int int
g -_ double double
g @in A,list<A> bool
g @in A,map<A,B> bool
g _[_] list<A>,int A
g _[_] map<A,B>,A B
g _[_] optional<list<A>>,int optional<A>
g _[_] optional<map<A,B>>,A optional<B>
g _[?_] list<A>,int optional<A>
g _[?_] map<A,B>,A optional<B>
g _[?_] optional<list<A>>,int optional<A>
g _[?_] optional<map<A,B>>,A optional<B>
g size string int
g size bytes int
g size list<A> int
g size map<A,B> int
m size string int
m size bytes int
m size list<A> int
m size map<A,B> int
g type A type
g dyn A dyn
g string bool string
g string int string
g string uint string
g string double string
g string string string
g string bytes string
g string timestamp string
g string duration string
g string net.IP string
g string net.CIDR string
g int int int
g int uint int
g int double int
g int string int
g int timestamp int
g int duration int
g uint uint uint
g uint int uint
g uint double uint
g uint string uint
g double double double
g double int double
g double uint double
g double string double
g bool bool bool
g bool string bool
g bytes bytes bytes
g bytes string bytes
g timestamp timestamp timestamp
g timestamp string timestamp
g timestamp int timestamp
g duration duration duration
g duration string duration
g duration int duration
m contains|startsWith|endsWith|matches string,string bool
g matches string,string bool
m getFullYear|getMonth|getDate|getDayOfMonth|getDayOfWeek|getDayOfYear timestamp int
m getFullYear|getMonth|getDate|getDayOfMonth|getDayOfWeek|getDayOfYear timestamp,string int
m getHours|getMinutes|getSeconds|getMilliseconds timestamp int
m getHours|getMinutes|getSeconds|getMilliseconds timestamp,string int
m getHours|getMinutes|getSeconds|getMilliseconds duration int
g optional.of|optional.ofNonZeroValue A optional<A>
g optional.none - optional<A>
m hasValue optional<A> bool
m value optional<A> A
m or optional<A>,optional<A> optional<A>
m orValue optional<A>,A A
m charAt string,int string
m indexOf|lastIndexOf string,string int
m indexOf|lastIndexOf string,string,int int
m lowerAscii|upperAscii|trim string string
m replace string,string,string string
m replace string,string,string,int string
m split string,string list<string>
m split string,string,int list<string>
m substring string,int string
m substring string,int,int string
m format string,list<dyn> string
m join list<string> string
m join list<string>,string string
g strings.quote string string
m find string,string string
m findAll string,string list<string>
m findAll string,string,int list<string>
m isSorted list<A> bool
m sum list<int> int
m sum list<uint> uint
m sum list<double> double
m sum list<duration> duration
m min|max list<A> A
m indexOf|lastIndexOf list<A>,A int
m slice list<A>,int,int list<A>
m flatten list<A> list<dyn>
m flatten list<A>,int list<dyn>
m distinct|reverse|sort list<A> list<A>
m first|last list<A> optional<A>
m @sortByAssociatedKeys list<A>,list<B> list<A>
g lists.range int list<int>
g sets.contains|sets.equivalent|sets.intersects list<A>,list<A> bool
g @mapInsert map<A,B>,A,B map<A,B>
g @mapInsert map<A,B>,map<A,B> map<A,B>
g url string kubernetes.URL
g isURL string bool
m getScheme|getHost|getHostname|getPort|getEscapedPath kubernetes.URL string
m getQuery kubernetes.URL map<string,list<string>>
g ip string net.IP
g isIP string bool
g ip.isCanonical string bool
m family net.IP int
m isUnspecified|isLoopback|isLinkLocalMulticast|isLinkLocalUnicast|isGlobalUnicast net.IP bool
g cidr string net.CIDR
g isCIDR string bool
m containsIP net.CIDR,string bool
m containsIP net.CIDR,net.IP bool
m containsCIDR net.CIDR,string bool
m containsCIDR net.CIDR,net.CIDR bool
m ip net.CIDR net.IP
m prefixLength net.CIDR int
m masked net.CIDR net.CIDR
g quantity string kubernetes.Quantity
g isQuantity string bool
m sign kubernetes.Quantity int
m isGreaterThan|isLessThan kubernetes.Quantity,kubernetes.Quantity bool
m compareTo kubernetes.Quantity,kubernetes.Quantity int
m asApproximateFloat kubernetes.Quantity double
m asInteger kubernetes.Quantity int
m isInteger kubernetes.Quantity bool
m add|sub kubernetes.Quantity,kubernetes.Quantity kubernetes.Quantity
m add|sub kubernetes.Quantity,int kubernetes.Quantity
g semver string kubernetes.Semver
g semver string,bool kubernetes.Semver
g isSemver string bool
g isSemver string,bool bool
m isGreaterThan|isLessThan kubernetes.Semver,kubernetes.Semver bool
m compareTo kubernetes.Semver,kubernetes.Semver int
m major|minor|patch kubernetes.Semver int
g format.named string optional<kubernetes.NamedFormat>
g format.dns1123Label|format.dns1123Subdomain|format.dns1035Label - kubernetes.NamedFormat
g format.qualifiedName|format.labelValue|format.uri|format.uuid - kubernetes.NamedFormat
g format.byte|format.date|format.datetime - kubernetes.NamedFormat
g format.dns1123LabelPrefix|format.dns1123SubdomainPrefix|format.dns1035LabelPrefix - kubernetes.NamedFormat
m path|group|serviceAccount|resource|subresource|namespace|name|check dyn,string dyn
m validate kubernetes.NamedFormat,string optional<list<string>>
";
