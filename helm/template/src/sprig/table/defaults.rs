//! Default, condition and JSON functions.

use super::{FunctionResult, FunctionTable, bytes, sig};
use crate::error::Error;
use crate::exec::cost::READ_PART_STEPS;
use crate::sprig::json;
use crate::value::{ReflectKind, Value};

pub(super) fn add(table: &mut FunctionTable) {
    table.add(&["default"], sig!(ANY; ... ANY => ANY), |_, args| {
        let given = args.get(1).filter(|given| !is_empty(given));
        Ok(given.unwrap_or(&args[0]).clone())
    });
    table.add(&["empty"], sig!(ANY => BOOL), |_, args| Ok(Value::Bool(is_empty(&args[0]))));
    table.add(&["coalesce"], sig!(... ANY => ANY), |_, args| {
        Ok(args.iter().find(|value| !is_empty(value)).cloned().unwrap_or_default())
    });
    table.add_v3(&["all"], sig!(... ANY => BOOL), |_, args| Ok(Value::Bool(!args.iter().any(is_empty))));
    table.add_v3(&["any"], sig!(... ANY => BOOL), |_, args| Ok(Value::Bool(!args.iter().all(is_empty))));
    table.add(&["ternary"], sig!(ANY, ANY, BOOL => ANY), |_, args| {
        Ok(args[usize::from(args[2].as_bool() != Some(true))].clone())
    });
    add_json(table);
}

/// Whether sprig's `empty` holds: the value is the zero value of its type. A pointer, function or struct is never
/// empty.
pub(in crate::sprig) fn is_empty(value: &Value) -> bool {
    match value.kind() {
        ReflectKind::Invalid => true,
        ReflectKind::Struct | ReflectKind::Pointer | ReflectKind::Func => false,
        _ => !value.is_true(),
    }
}

fn add_json(table: &mut FunctionTable) {
    let text = |written: Result<Vec<u8>, String>| -> FunctionResult { Ok(Value::string(written.unwrap_or_default())) };
    let must =
        |written: Result<Vec<u8>, String>| -> FunctionResult { Ok(Value::string(written.map_err(Error::call)?)) };
    table.add(&["toJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        text(json::write(&args[0], true))
    });
    table.add(&["toPrettyJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        text(json::write_pretty(&args[0]))
    });
    table.add_v3(&["toRawJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        must(json::write(&args[0], false))
    });
    table.add_v3(&["mustToJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        must(json::write(&args[0], true))
    });
    table.add_v3(&["mustToPrettyJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        must(json::write_pretty(&args[0]))
    });
    table.add_v3(&["mustToRawJson"], sig!(ANY => STRING), move |execution, args| {
        execution.charge_traversal(args, READ_PART_STEPS)?;
        must(json::write(&args[0], false))
    });
    table.add_v3(&["fromJson"], sig!(STRING => ANY), |execution, args| {
        let value = json::read(bytes(args, 0)).unwrap_or_default();
        execution.charge_read(&value, bytes(args, 0).len()).map(|()| value)
    });
    table.add_v3(&["mustFromJson"], sig!(STRING => ANY), |execution, args| {
        let value = json::read(bytes(args, 0)).map_err(Error::call)?;
        execution.charge_read(&value, bytes(args, 0).len()).map(|()| value)
    });
}
