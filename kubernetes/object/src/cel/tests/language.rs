use std::sync::Arc;

use serde_json::json;

use crate::Value;
use crate::cel::CelRules;
use crate::schema::Schema;

/// Runs a rule on the root of an object with this `spec`. Returns the error, if any.
fn rule_error(rule: &str, spec: Value) -> Option<String> {
    let schema = json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {"spec": {
    "type": "object", "properties": {
        "n": {"type": "integer"}, "f": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
        "l": {"type": "array", "items": {"type": "integer"}},
        "t": {"type": "array", "items": {"type": "string"}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "m": {"type": "object", "additionalProperties": {"type": "integer"}},
        "at": {"type": "string", "format": "date-time"}, "d": {"type": "string", "format": "duration"},
        "raw": {"type": "string", "format": "byte"}, "any": {"x-kubernetes-int-or-string": true},
        "a-b.c": {"type": "string"}, "namespace": {"type": "string"},
    }}}});
    let rules = CelRules::new(Arc::new(Schema::from_json(&schema)));
    let (errors, _) =
        rules.validate(&json!({"apiVersion": "a/v1", "kind": "T", "metadata": {"name": "x"}, "spec": spec}), None);
    errors.first().map(|error| error.detail.clone())
}

fn holds(rule: &str) {
    let spec = json!({"n": 5, "f": 1.5, "s": "hello", "b": true, "l": [3, 1, 2], "t": ["a", "b"], "set": ["x", "y"],
        "m": {"k": 1, "j": 2}, "at": "2020-01-02T03:04:05Z", "d": "90m", "raw": "YWI=", "any": "5%", "a-b.c": "z",
        "namespace": "ns"});
    assert_eq!(rule_error(rule, spec), None, "{rule}");
}

#[test]
fn values_are_typed_by_the_schema() {
    for rule in [
        "self.spec.n == 5 && self.spec.n + 1 == 6 && type(self.spec.n) == int",
        "self.spec.f > 1.0 && self.spec.f < 2 && self.spec.n < 5.5",
        "self.spec.at.getFullYear() == 2020 && self.spec.at.getMonth() == 0 && self.spec.at.getHours('+02:00') == 5",
        "self.spec.d == duration('1h30m') && self.spec.d.getMinutes() == 90 && self.spec.at + self.spec.d > self.spec.at",
        "self.spec.raw == b'ab' && size(self.spec.raw) == 2",
        "type(self.spec.any) == string ? self.spec.any.endsWith('%') : self.spec.any > 1",
        "self.spec.a__dash__b__dot__c == 'z' && self.spec.__namespace__ == 'ns'",
        "self.metadata.name == 'x' && self.kind == 'T' && self.apiVersion.startsWith('a/')",
        "has(self.spec.s) && !has(self.metadata.generateName)",
        "self.spec.set == ['y', 'x'] && self.spec.set + ['x', 'z'] == ['x', 'y', 'z']",
        "self.spec.m['k'] == 1 && 'j' in self.spec.m && !('q' in self.spec.m) && self.spec.m.all(k, k.size() == 1)",
    ] {
        holds(rule);
    }
}

#[test]
fn macros_and_libraries_work() {
    for rule in [
        "self.spec.l.all(x, x > 0) && self.spec.l.exists(x, x == 3) && self.spec.l.exists_one(x, x == 1)",
        "self.spec.l.map(x, x * 2) == [6, 2, 4] && self.spec.l.filter(x, x > 1) == [3, 2]",
        "self.spec.l.map(x, x > 1, x + 1) == [4, 3]",
        "self.spec.l.sum() == 6 && self.spec.l.min() == 1 && self.spec.l.max() == 3 && !self.spec.l.isSorted()",
        "self.spec.l.indexOf(2) == 2 && self.spec.l.lastIndexOf(9) == -1 && self.spec.l.sort() == [1, 2, 3]",
        "self.spec.l.sortBy(x, -x) == [3, 2, 1] && self.spec.l.slice(0, 2) == [3, 1] && lists.range(3) == [0, 1, 2]",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2] && [1, 2].reverse() == [2, 1]",
        "self.spec.l.first().value() == 3 && [].last().hasValue() == false",
        "self.spec.t.join('-') == 'a-b' && 'a,b'.split(',') == ['a', 'b'] && 'x'.upperAscii() == 'X'",
        "'hello'.substring(1, 3) == 'el' && 'hello'.charAt(1) == 'e' && 'hello'.indexOf('l') == 2 && 'hello'.lastIndexOf('l') == 3",
        "' a '.trim() == 'a' && 'aXbX'.replace('X', '-', 1) == 'a-bX'",
        "'%s is %d (%.2f)'.format(['x', 3, 1.5]) == 'x is 3 (1.50)' && strings.quote('a\"b') == '\"a\\\\\"b\"'",
        "'abc123'.find('[0-9]+') == '123' && 'a1b22'.findAll('[0-9]+') == ['1', '22'] && 'abc'.matches('^a.c$')",
        "url('https://u@h:8080/p%20q?a=1&a=2').getHost() == 'h:8080' && url('https://h:80/p').getPort() == '80'",
        "url('https://h/p?a=1&a=2').getQuery() == {'a': ['1', '2']} && isURL('/x') && !isURL('x')",
        "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('1.2.3') && ip.isCanonical('::1')",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8')",
        "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('5').add(quantity('1')).asInteger() == 6 && isQuantity('5k')",
        "semver('1.2.3').major() == 1 && semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && isSemver('v1.2', true) && !isSemver('v1.2')",
        "format.dns1123Label().validate('a-b').hasValue() == false && format.named('uuid').value().validate('x').value() == ['does not match the UUID format']",
        "sets.contains([1, 2], [2]) && sets.equivalent([1, 2], [2, 1, 1]) && sets.intersects([1], [1, 3])",
        "self.spec.l.all(i, x, i < 3 && x < 4) && self.spec.m.exists(k, v, k == 'j' && v == 2)",
        "self.spec.l.transformList(i, x, i * x) == [0, 1, 4] && self.spec.m.transformMap(k, v, v + 1) == {'k': 2, 'j': 3}",
        "['a', 'b'].transformMapEntry(i, x, {x: i}) == {'a': 0, 'b': 1}",
        "self.spec.?s.orValue('d') == 'hello' && self.metadata.?generateName.orValue('d') == 'd'",
        "optional.of(1).optMap(x, x + 1).value() == 2 && optional.none().hasValue() == false && [1][?5].hasValue() == false",
        "string(1.5) == '1.5' && int('7') == 7 && double('1.5') == 1.5 && string(duration('90s')) == '90s' && uint(3) == 3u",
        "true || 1 / 0 == 1",
        "[1, 0].exists(x, 2 / x == 2)",
        "-self.spec.n == -5 && self.spec.n % 2 == 1 && self.spec.n / 2 == 2",
    ] {
        holds(rule);
    }
}

#[test]
fn failures_have_the_servers_text() {
    let cases = [
        ("self.spec.n > 5", "failed rule: self.spec.n > 5"),
        ("self.spec.s == 'x'", "no such key: s evaluating rule: self.spec.s == 'x'"),
        ("self.spec.l[5] == 1", "index out of bounds: 5 evaluating rule: self.spec.l[5] == 1"),
        ("self.spec.n / 0 == 1", "division by zero evaluating rule: self.spec.n / 0 == 1"),
        ("self.spec.m['x'] == 1", "no such key: x evaluating rule: self.spec.m['x'] == 1"),
        (
            "self.spec.any > 'a'",
            "'no such overload': call arguments did not match a supported operator, function or macro signature for rule: self.spec.any > 'a'",
        ),
    ];
    for (rule, expected) in cases {
        let spec = json!({"n": 5, "l": [1], "m": {}, "any": 5});
        assert_eq!(rule_error(rule, spec).as_deref(), Some(expected), "{rule}");
    }
}
