//! kube-apiserver's internal structs as printed in error messages: Go's JSON, every field, in the order of the struct.

use super::structural::{fields, list, text};
use crate::Value;

/// Prints a schema.
pub(super) fn internal_schema(schema: &Value) -> String {
    const PLAIN: [(&str, &str, &str); 24] = [
        ("ID", "id", "\"\""),
        ("Schema", "$schema", "\"\""),
        ("Ref", "$ref", "null"),
        ("Description", "description", "\"\""),
        ("Type", "type", "\"\""),
        ("Nullable", "nullable", "false"),
        ("Format", "format", "\"\""),
        ("Title", "title", "\"\""),
        ("Default", "default", "null"),
        ("Maximum", "maximum", "null"),
        ("ExclusiveMaximum", "exclusiveMaximum", "false"),
        ("Minimum", "minimum", "null"),
        ("ExclusiveMinimum", "exclusiveMinimum", "false"),
        ("MaxLength", "maxLength", "null"),
        ("MinLength", "minLength", "null"),
        ("Pattern", "pattern", "\"\""),
        ("MaxItems", "maxItems", "null"),
        ("MinItems", "minItems", "null"),
        ("UniqueItems", "uniqueItems", "false"),
        ("MultipleOf", "multipleOf", "null"),
        ("Enum", "enum", "null"),
        ("MaxProperties", "maxProperties", "null"),
        ("MinProperties", "minProperties", "null"),
        ("Required", "required", "null"),
    ];
    const TAIL: [(&str, &str, &str); 8] = [
        ("ExternalDocs", "externalDocs", "null"),
        ("Example", "example", "null"),
        ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields", "null"),
        ("XEmbeddedResource", "x-kubernetes-embedded-resource", "false"),
        ("XIntOrString", "x-kubernetes-int-or-string", "false"),
        ("XListMapKeys", "x-kubernetes-list-map-keys", "null"),
        ("XListType", "x-kubernetes-list-type", "null"),
        ("XMapType", "x-kubernetes-map-type", "null"),
    ];
    let plain = |(name, key, zero): &(&str, &str, &str)| match &schema[*key] {
        Value::Null => format!("\"{name}\":{zero}"),
        value => format!("\"{name}\":{value}"),
    };
    let mut parts: Vec<String> = PLAIN.iter().map(plain).collect();
    parts.push(format!("\"Items\":{}", items(&schema["items"])));
    for (name, key) in [("AllOf", "allOf"), ("OneOf", "oneOf"), ("AnyOf", "anyOf")] {
        parts.push(format!("\"{name}\":{}", schemas(list(schema, key))));
    }
    parts.push(format!("\"Not\":{}", schema_json(&schema["not"])));
    parts.push(format!("\"Properties\":{}", named_schemas(schema, "properties")));
    parts.push(format!("\"AdditionalProperties\":{}", or_bool(&schema["additionalProperties"])));
    parts.push(format!("\"PatternProperties\":{}", named_schemas(schema, "patternProperties")));
    parts.push("\"Dependencies\":null".to_string());
    parts.push(format!("\"AdditionalItems\":{}", or_bool(&schema["additionalItems"])));
    parts.push(format!("\"Definitions\":{}", named_schemas(schema, "definitions")));
    parts.extend(TAIL.iter().map(plain));
    let rules: Vec<String> = list(schema, "x-kubernetes-validations").iter().map(internal_rule).collect();
    parts.push(match rules.is_empty() {
        true => "\"XValidations\":null".to_string(),
        false => format!("\"XValidations\":[{}]", rules.join(",")),
    });
    format!("{{{}}}", parts.join(","))
}

/// Prints a rule of `x-kubernetes-validations`.
pub(crate) fn internal_rule(rule: &Value) -> String {
    let string = |key: &str| Value::from(text(rule, key));
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        string("rule"),
        string("message"),
        string("messageExpression"),
        rule["reason"],
        string("fieldPath"),
        rule["optionalOldSelf"],
    )
}

fn schema_json(schema: &Value) -> String {
    if schema.is_object() { internal_schema(schema) } else { "null".to_string() }
}

fn schemas(list: &[Value]) -> String {
    match list {
        [] => "null".to_string(),
        list => format!("[{}]", list.iter().map(internal_schema).collect::<Vec<_>>().join(",")),
    }
}

fn items(items: &Value) -> String {
    match items {
        Value::Null => "null".to_string(),
        Value::Array(list) => format!("{{\"Schema\":null,\"JSONSchemas\":{}}}", schemas(list)),
        schema => format!("{{\"Schema\":{},\"JSONSchemas\":null}}", schema_json(schema)),
    }
}

fn or_bool(value: &Value) -> String {
    match value {
        Value::Null => "null".to_string(),
        Value::Bool(allows) => format!("{{\"Allows\":{allows},\"Schema\":null}}"),
        schema => format!("{{\"Allows\":true,\"Schema\":{}}}", schema_json(schema)),
    }
}

fn named_schemas(schema: &Value, key: &str) -> String {
    let parts: Vec<String> =
        fields(schema, key).map(|(name, s)| format!("{}:{}", Value::from(name.as_str()), internal_schema(s))).collect();
    if parts.is_empty() { "null".to_string() } else { format!("{{{}}}", parts.join(",")) }
}
