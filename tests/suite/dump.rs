//! Must-gather dumps created from objects.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;

/// Writes one file for each object at its path in a must-gather.
///
/// # Errors
/// If a file cannot be written.
pub fn write(root: &Path, objects: &[Value]) -> io::Result<()> {
    for object in objects {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("core", |(group, _)| group);
        let (kind, namespace, name) = (text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let plural = format!("{}{}", kind.to_lowercase(), if kind.ends_with('s') { "es" } else { "s" });
        let path = match (kind, namespace) {
            ("Namespace", _) => format!("namespaces/{name}/{name}.yaml"),
            (_, "") => format!("cluster-scoped-resources/{group}/{plural}/{name}.yaml"),
            _ => format!("namespaces/{namespace}/{group}/{plural}/{name}.yaml"),
        };
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap_or(root))?;
        fs::write(path, object.to_string())?;
    }
    Ok(())
}
