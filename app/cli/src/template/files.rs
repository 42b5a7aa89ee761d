//! Files of `switchboard template`: values as input, manifests as output.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Component, Path};

use switchboard_chart::output::{OutputOptions, hooks, manifests, part};
use switchboard_chart::render::RenderedChart;
use switchboard_object::quote::quote;

/// Maximum size of a values file.
const MAX_VALUES_BYTES: u64 = 64 * 1024 * 1024;

/// Reads a file or stdin.
pub fn read(name: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = if name.trim() == "-" {
        io::stdin().lock().take(MAX_VALUES_BYTES + 1).read_to_end(&mut bytes)
    } else if name.starts_with("http://") || name.starts_with("https://") {
        return Err(format!("could not read {name}\nhint: pass a local file; values are not fetched"));
    } else {
        File::open(name).and_then(|file| file.take(MAX_VALUES_BYTES + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| format!("open {name}: {}", words(&error)))?;
    if bytes.len() as u64 > MAX_VALUES_BYTES {
        return Err(format!("{name} is larger than {MAX_VALUES_BYTES} bytes"));
    }
    Ok(bytes)
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_string(),
        io::ErrorKind::PermissionDenied => "permission denied".to_string(),
        io::ErrorKind::IsADirectory => "is a directory".to_string(),
        _ => error.to_string(),
    }
}

/// Prints to stdout. A reader that closes the pipe is not an error.
pub fn print(text: &str) -> Result<(), String> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Writes a file for each template like Helm: CRDs to the folder itself, the others below the release name if
/// requested.
pub fn write_all(rendered: &RenderedChart, options: &OutputOptions, folder: &Path, inner: &Path) -> Result<(), String> {
    let mut written = BTreeSet::new();
    let crds = if options.crds { rendered.crds.len() } else { 0 };
    for (index, (source, text)) in manifests(rendered, options).enumerate() {
        let again = !written.insert(source.to_string());
        write(if index < crds { folder } else { inner }, source, text, again)?;
    }
    for hook in hooks(rendered, options) {
        let source = &hook.manifest.source;
        write(inner, source, hook.manifest.text(), inner.join(source).exists())?;
    }
    // Like Helm: templates written to files are not found by --show-only.
    match options.show_only.first() {
        Some(name) => Err(format!("could not find template {name} in chart")),
        None => print("\n"),
    }
}

fn write(folder: &Path, name: &str, text: &str, append: bool) -> Result<(), String> {
    if Path::new(name).components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(format!("template {} leads out of the output folder", quote(name)));
    }
    let path = folder.join(name);
    let failed = |error: io::Error| format!("open {}: {}", path.display(), words(&error));
    fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(failed)?;
    let file = OpenOptions::new().write(true).create(true).append(append).truncate(!append).open(&path);
    file.and_then(|mut file| file.write_all(part(name, text).as_bytes())).map_err(failed)?;
    print(&format!("wrote {}\n", path.display()))
}
