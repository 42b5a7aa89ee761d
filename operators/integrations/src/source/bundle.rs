//! Bundle file: the JSON output of qontract-bundler, optionally compressed with gzip.

use std::fmt;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::directory::SourceError;
use super::{Bundle, Datafile, MAX_BUNDLE_BYTES, MAX_FILES, sha256};
use crate::problem::DataProblem;

/// Magic bytes of gzip.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a bundle file.
///
/// # Errors
/// If the file cannot be read, is not a bundle, or is too large.
pub fn read(path: &Path) -> Result<Bundle, SourceError> {
    let name = path.display().to_string();
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| SourceError::Read(path.to_path_buf(), error))?;
    let read = file.take(MAX_BUNDLE_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| SourceError::Read(path.to_path_buf(), error))?;
    parse(&name, &bytes)
}

/// Parses a bundle. `name` is used in messages.
///
/// # Errors
/// If the bytes are not a bundle or are too large.
pub fn parse(name: &str, bytes: &[u8]) -> Result<Bundle, SourceError> {
    let mut unpacked = Vec::new();
    let bytes = if bytes.starts_with(&GZIP) {
        let mut decoder = MultiGzDecoder::new(bytes).take(MAX_BUNDLE_BYTES + 1);
        decoder.read_to_end(&mut unpacked).map_err(|error| SourceError::Packed(name.to_string(), error))?;
        &unpacked
    } else {
        bytes
    };
    if bytes.len() as u64 > MAX_BUNDLE_BYTES {
        return Err(SourceError::TooLarge(name.to_string(), format!("{MAX_BUNDLE_BYTES} bytes")));
    }
    let whole: BundleJson<'_> =
        serde_json::from_slice(bytes).map_err(|error| SourceError::Bundle(name.to_string(), error))?;
    if whole.data.0.len() > MAX_FILES {
        return Err(SourceError::TooLarge(name.to_string(), format!("{MAX_FILES} files")));
    }
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    for (path, raw) in whole.data.0 {
        match parse_datafile(&path, raw) {
            Ok(file) => files.push(file),
            Err(problem) => problems.push(problem),
        }
    }
    // The server uses the same SHA, computed from the uncompressed bytes.
    Ok(Bundle::new(sha256(bytes), files, problems).with_commit(whole.git_commit))
}

/// Parts of a bundle that are read; schemas and resources are skipped.
#[derive(Deserialize)]
struct BundleJson<'a> {
    #[serde(borrow)]
    data: BundleFiles<'a>,
    #[serde(default)]
    git_commit: Option<String>,
}

/// Paths with their JSON in file order, including duplicate paths.
struct BundleFiles<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for BundleFiles<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FilesVisitor;
        impl<'de> Visitor<'de> for FilesVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of datafiles by path")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut files = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    files.push(entry);
                }
                Ok(files)
            }
        }
        deserializer.deserialize_map(FilesVisitor).map(BundleFiles)
    }
}

fn parse_datafile(path: &str, raw: &RawValue) -> Result<Datafile, DataProblem> {
    #[derive(Deserialize)]
    struct DatafileHeader {
        #[serde(rename = "$schema")]
        schema: Option<String>,
    }
    let head: DatafileHeader =
        serde_json::from_str(raw.get()).map_err(|error| match serde_json::from_str::<IgnoredAny>(raw.get()) {
            Ok(_) if !raw.get().trim_start().starts_with('{') => DataProblem::of_file(path, "is not a map of fields"),
            _ => DataProblem::of_file(path, error),
        })?;
    match head.schema {
        Some(schema) => Ok(Datafile::lazy(path, &schema, raw.to_owned())),
        None => Err(DataProblem::of_file(path, "has no `$schema`")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::Write as _;

    use super::*;

    const TEXT: &str = r#"{"data":{"/a.yml":{"$file_sha256sum":"x","$schema":"/x-1.yml","name":"a"},"/b.yml":[],
        "/c.yml":{"name":1},"/d.yml":{"$schema":3}},"git_commit":"abc","graphql":[],"resources":{},"schemas":{}}"#;

    #[test]
    fn a_bundle_is_read_plain_and_compressed_and_invalid_files_are_reported() {
        let plain = parse("bundle.json", TEXT.as_bytes()).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(TEXT.as_bytes()).unwrap();
        let packed = parse("bundle.json.gz", &gzip.finish().unwrap()).unwrap();
        for bundle in [plain, packed] {
            assert_eq!(bundle.sha(), sha256(TEXT.as_bytes()));
            assert_eq!(bundle.commit(), Some("abc"));
            assert_eq!(bundle.file("/a.yml").unwrap().value()["name"], "a");
            let bad: Vec<&str> = bundle.problems().iter().map(|problem| &*problem.file).collect();
            assert_eq!(bad, ["/b.yml", "/c.yml", "/d.yml"]);
        }
    }

    #[test]
    fn an_invalid_bundle_is_an_error() {
        let said = |bytes: &[u8]| std::error::Error::source(&parse("b", bytes).unwrap_err()).unwrap().to_string();
        assert!(said(b"{}").contains("missing field `data`"));
        assert!(said(b"{\"data\": 3}").contains("a map of datafiles by path"));
        assert!(said(b"[").contains("EOF") || !said(b"[").is_empty());
        assert!(matches!(parse("b", &[0x1f, 0x8b, 0, 1]), Err(SourceError::Packed(..))));
    }

    #[test]
    fn deeply_nested_json_does_not_crash() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let text = format!(r#"{{"data":{{"/a.yml":{{"$schema":"/x","v":{deep}}},"/b.yml":{{"$schema":"/x"}}}}}}"#);
        let bundle = parse("b", text.as_bytes());
        // The parser may reject the file or the bundle, but it must terminate.
        if let Ok(bundle) = bundle {
            assert!(bundle.file("/a.yml").is_none_or(|file| file.value().is_null()));
        }
    }
}
