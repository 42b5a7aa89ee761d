//! A loaded chart. It is immutable and shared by all its renderings.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use switchboard_object::Map;
use switchboard_object::quote::quote;
use switchboard_template::Str;

use crate::archive::{ArchiveBudget, ArchiveError, read_archive};
use crate::file::ChartFile;
use crate::folder::{FolderError, SymlinkPolicy, error_text, read_file, read_folder};
use crate::metadata::{self, ChartMetadata, ValidationError};
use crate::typed::{self, DecodeError, StructFields};
use crate::values;

/// Maximum depth of nested charts.
const MAX_NESTED_CHARTS: usize = 32;
/// Bytes at the start of a file that determine its content type.
const SNIFF_BYTES: usize = 512;
const GZIP_HEADER_BYTES: usize = 10;

/// A chart and its subcharts.
#[derive(Debug, Default)]
pub struct Chart {
    /// Content of `Chart.yaml`.
    pub metadata: ChartMetadata,
    /// Default values from `values.yaml`.
    pub values: Arc<Map>,
    /// Schema of the values from `values.schema.json`.
    pub schema: Option<Arc<[u8]>>,
    /// Files in `templates/`.
    pub templates: Vec<ChartFile>,
    /// All other files, including those in `crds/`.
    pub files: Vec<ChartFile>,
    /// Charts in `charts/`.
    pub subcharts: Vec<Arc<Chart>>,
    /// Helm's warnings while loading, such as one about a deprecated file name.
    pub warnings: Vec<String>,
    /// Files as templates see them, created once and shared by all renderings.
    texts: OnceLock<Vec<(Str, Str)>>,
}

/// Error of loading a chart. The texts are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The path does not exist.
    #[error("path {} not found", quote(.0))]
    NotFound(String),
    /// The file cannot be read.
    #[error("open {path}: {}", error_text(source))]
    Open {
        /// Path of the file.
        path: String,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The path is a file, but not an archive.
    #[error("file '{path}' {problem}")]
    NoArchive {
        /// Path of the file.
        path: String,
        /// Detected content.
        problem: String,
    },
    /// The folder cannot be read.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// The archive of a subchart cannot be read.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// The chart's own archive cannot be read. Helm's text ends there; the detail is Switchboard's.
    #[error("unable to load chart archive\n  {0}")]
    Unreadable(ArchiveError),
    /// An archive has no `Chart.yaml`.
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoVersion,
    /// The `apiVersion` is unknown.
    #[error("unsupported chart version")]
    Unsupported,
    /// Helm cannot install charts of this `apiVersion` yet.
    #[error("invalid chart apiVersion")]
    TooNew,
    /// A file of the chart is invalid.
    #[error("cannot load {file}: {problem}")]
    File {
        /// Name of the file.
        file: &'static str,
        /// Problem.
        problem: String,
    },
    /// A folder has no `Chart.yaml`.
    #[error("unable to detect chart at {0}: open {0}: no such file or directory")]
    Undetected(String),
    /// The folder's `Chart.yaml` cannot be accessed.
    #[error("unable to detect chart at {0}: open {0}: {1}", path.display(), error_text(source))]
    Undetectable {
        /// Path of the file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The chart has no `Chart.yaml`.
    #[error("Chart.yaml file is missing")]
    NoMetadata,
    /// `Chart.yaml` is invalid.
    #[error("{0}")]
    Invalid(#[from] ValidationError),
    /// A subchart cannot be loaded.
    #[error("error unpacking subchart {subchart} in {chart}: {problem}")]
    Subchart {
        /// Folder or archive in `charts/`.
        subchart: String,
        /// Parent chart.
        chart: String,
        /// Problem.
        problem: Box<LoadError>,
    },
    /// Charts are nested too deeply.
    #[error("charts are nested deeper than {MAX_NESTED_CHARTS} levels")]
    TooDeep,
}

/// Error for a chart that cannot be rendered on its own.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The chart has another type, such as `library`.
    #[error("{0} charts are not installable")]
    Kind(String),
    /// Dependencies are missing in `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {0}"
    )]
    Missing(String),
}

impl Chart {
    /// Loads a chart from its folder or archive.
    ///
    /// # Errors
    /// If the path is not a chart, the chart is invalid, or a limit is exceeded.
    pub fn load(path: &Path, links: SymlinkPolicy) -> Result<Arc<Self>, LoadError> {
        let shown = path.to_string_lossy().into_owned();
        let open = |source| LoadError::Open { path: shown.clone(), source };
        if !path.exists() {
            return Err(LoadError::NotFound(shown));
        }
        if path.is_dir() {
            let top = std::path::absolute(path).map_err(open)?.join("Chart.yaml");
            if !top.exists() {
                return Err(LoadError::Undetected(top.to_string_lossy().into_owned()));
            }
            let data = read_file(path, "Chart.yaml", links).map_err(|error| match error {
                FolderError::Read { source, .. } => LoadError::Undetectable { path: top, source },
                error => error.into(),
            })?;
            let version = detect_version(&data.unwrap_or_default())?;
            return version.build(read_folder(path, links)?, &mut ArchiveBudget::default());
        }
        let size = std::fs::metadata(path).map_err(open)?.len();
        if size > crate::archive::MAX_CHART_BYTES {
            return Err(ArchiveError::TooLarge.into());
        }
        // Special files such as pipes have no size before they are read.
        let mut bytes = Vec::new();
        let file = std::fs::File::open(path).map_err(open)?;
        file.take(crate::archive::MAX_CHART_BYTES + 1).read_to_end(&mut bytes).map_err(open)?;
        if bytes.len() as u64 > crate::archive::MAX_CHART_BYTES {
            return Err(ArchiveError::TooLarge.into());
        }
        if !bytes.starts_with(b"\x1f\x8b\x08") {
            return Err(LoadError::NoArchive { problem: not_an_archive(&shown, &bytes), path: shown });
        }
        if bytes.len() < GZIP_HEADER_BYTES {
            let problem = "does not appear to be a valid chart file (details: gzip: invalid header)".to_string();
            return Err(LoadError::NoArchive { problem, path: shown });
        }
        Self::from_archive(&bytes)
    }

    /// Loads a chart from the bytes of an archive.
    ///
    /// # Errors
    /// Errors of [`Chart::load`].
    pub fn from_archive(bytes: &[u8]) -> Result<Arc<Self>, LoadError> {
        let mut budget = ArchiveBudget::default();
        let files = read_archive(bytes, &mut budget).map_err(LoadError::Unreadable)?;
        let described = files.iter().find(|file| file.name == "Chart.yaml").ok_or(LoadError::NoVersion)?;
        detect_version(&described.data)?.build(files, &mut budget)
    }

    /// Creates a chart from files in memory.
    ///
    /// # Errors
    /// If `Chart.yaml`, `values.yaml` or a subchart is invalid.
    pub fn from_files(files: Vec<ChartFile>) -> Result<Arc<Self>, LoadError> {
        build(files, &mut ArchiveBudget::default(), 0)
    }

    pub(crate) fn texts(&self) -> &[(Str, Str)] {
        self.texts.get_or_init(|| self.files.iter().map(|file| (Str::new(&file.name), Str::new(&file.data))).collect())
    }

    /// Checks that the chart can be rendered on its own: it is not a library, and all dependencies are in `charts/`.
    ///
    /// # Errors
    /// With Helm's text.
    pub fn check_installable(&self) -> Result<(), InstallError> {
        if !matches!(self.metadata.kind.as_str(), "" | "application") {
            return Err(InstallError::Kind(self.metadata.kind.clone()));
        }
        let there = |name: &str| self.subcharts.iter().any(|chart| chart.name() == name);
        let wanted = self.metadata.dependencies.iter().flatten().map(|dependency| dependency.name.as_str());
        let missing: Vec<&str> = wanted.filter(|name| !there(name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(InstallError::Missing(missing.join(", "))) }
    }

    /// Returns the chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

/// Support for the `apiVersion` of a chart. Helm checks it before anything else.
enum DetectedVersion {
    Supported,
    TooNew,
}

impl DetectedVersion {
    fn build(self, files: Vec<ChartFile>, budget: &mut ArchiveBudget) -> Result<Arc<Chart>, LoadError> {
        let chart = build(files, budget, 0)?;
        match self {
            Self::Supported => Ok(chart),
            Self::TooNew => Err(LoadError::TooNew),
        }
    }
}

fn detect_version(data: &[u8]) -> Result<DetectedVersion, LoadError> {
    let described = typed::read_bytes(data).map_err(file_error("Chart.yaml"))?;
    let empty = Map::new();
    let mut fields = StructFields::new(described.as_object().unwrap_or(&empty), "chartBase");
    let version = fields.text("apiVersion");
    fields.finish().map_err(file_error("Chart.yaml"))?;
    match version.as_str() {
        "" | metadata::V1 | "v2" => Ok(DetectedVersion::Supported),
        "v3" => Ok(DetectedVersion::TooNew),
        _ => Err(LoadError::Unsupported),
    }
}

fn not_an_archive(path: &str, bytes: &[u8]) -> String {
    if path.ends_with(".yml") || path.ends_with(".yaml") {
        return "seems to be a YAML file, but expected a gzipped archive".to_string();
    }
    // Helm checks 512 bytes. It counts bytes beyond the end as zeros, which do not occur in text.
    let binary = |b: &u8| *b < 0x09 || (0x0e..0x20).contains(b) && *b != 0x1b;
    let kind = match bytes {
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ if bytes.len() < SNIFF_BYTES || bytes[..SNIFF_BYTES].iter().any(binary) => "application/octet-stream",
        _ => "text/plain; charset=utf-8",
    };
    format!("does not appear to be a gzipped archive; got '{kind}'")
}

fn file_error(file: &'static str) -> impl Fn(DecodeError) -> LoadError {
    move |error| LoadError::File { file, problem: error.to_string() }
}

fn build(files: Vec<ChartFile>, budget: &mut ArchiveBudget, depth: usize) -> Result<Arc<Chart>, LoadError> {
    if depth > MAX_NESTED_CHARTS {
        return Err(LoadError::TooDeep);
    }
    let mut chart = Chart::default();
    let mut subcharts: BTreeMap<String, Vec<ChartFile>> = BTreeMap::new();
    let mut described = false;
    // If there are several, later ones override earlier ones.
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        described = true;
        let document = typed::read_bytes(&file.data).map_err(file_error("Chart.yaml"))?;
        chart.metadata.read(&document).map_err(file_error("Chart.yaml"))?;
        if chart.metadata.api_version.is_empty() {
            chart.metadata.api_version = metadata::V1.to_string();
        }
    }
    for file in files {
        described |= add_file(file, &mut chart, &mut subcharts)?;
    }
    if !described {
        return Err(LoadError::NoMetadata);
    }
    chart.metadata.validate()?;
    for (name, files) in subcharts {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let loaded = subchart(&name, files, budget, depth).map_err(|problem| LoadError::Subchart {
            subchart: name,
            chart: chart.name().to_string(),
            problem: Box::new(problem),
        })?;
        chart.warnings.extend(loaded.warnings.iter().cloned());
        chart.subcharts.push(loaded);
    }
    Ok(Arc::new(chart))
}

/// Adds a file to the chart or to the files of a subchart. Returns whether the file contains metadata.
fn add_file(
    file: ChartFile,
    chart: &mut Chart,
    subcharts: &mut BTreeMap<String, Vec<ChartFile>>,
) -> Result<bool, LoadError> {
    let old = chart.metadata.api_version == metadata::V1;
    match file.name.as_str() {
        "Chart.yaml" | "Chart.lock" => {}
        "values.yaml" => {
            chart.values = Arc::new(values::read_bytes(&file.data).map_err(file_error("values.yaml"))?);
        }
        "values.schema.json" => chart.schema = Some(file.data),
        "requirements.yaml" => {
            if !old {
                chart
                    .warnings
                    .push(moved_file_warning("Dependencies are handled in Chart.yaml", "dependencies to Chart.yaml"));
            }
            let document = typed::read_bytes(&file.data).map_err(file_error("requirements.yaml"))?;
            chart.metadata.read(&document).map_err(file_error("requirements.yaml"))?;
            if old {
                chart.files.push(file);
            }
            return Ok(true);
        }
        "requirements.lock" => {
            if old {
                chart.files.push(file);
            } else {
                chart.warnings.push(moved_file_warning("Dependency locking is handled in Chart.lock", "to Chart.lock"));
            }
            return Ok(true);
        }
        name if name.starts_with("templates/") => chart.templates.push(file),
        name if name.starts_with("charts/") && !name.ends_with(".prov") => {
            let inner = &name["charts/".len()..];
            let folder = inner.split('/').next().unwrap_or(inner).to_string();
            let file = ChartFile { name: inner.to_string(), data: file.data };
            subcharts.entry(folder).or_default().push(file);
        }
        _ => chart.files.push(file),
    }
    Ok(false)
}

fn moved_file_warning(what: &str, to: &str) -> String {
    format!("Warning: {what} since apiVersion \"v2\". We recommend migrating {to}.")
}

fn subchart(
    name: &str,
    files: Vec<ChartFile>,
    budget: &mut ArchiveBudget,
    depth: usize,
) -> Result<Arc<Chart>, LoadError> {
    if name.ends_with(".tgz") {
        // A folder with that name is not an archive.
        let Some(archive) = files.first().filter(|file| file.name == name) else {
            return Err(LoadError::NoMetadata);
        };
        let files = read_archive(&archive.data, budget)?;
        return build(files, budget, depth + 1);
    }
    let inside = |file: ChartFile| {
        let (_, inner) = file.name.split_once('/')?;
        Some(ChartFile { name: inner.to_string(), data: file.data })
    };
    build(files.into_iter().filter_map(inside).collect(), budget, depth + 1)
}
