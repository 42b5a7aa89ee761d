//! A chart as it was loaded: never changed afterwards, shared by all who render it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use switchboard_object::Map;
use switchboard_template::Str;

use crate::archive::{ArchiveError, Budget, read_archive};
use crate::file::File;
use crate::folder::{FolderError, Links, read_file, read_folder, words};
use crate::metadata::{self, Metadata, ValidationError};
use crate::typed::{self, DecodeError, Fields};
use crate::values;

/// How deep charts may lie in each other.
const MAX_NESTED_CHARTS: usize = 32;
/// How much of a file says what it is.
const GLANCE_BYTES: usize = 512;
const GZIP_HEADER_BYTES: usize = 10;

/// A chart with its subcharts.
#[derive(Debug, Default)]
pub struct Chart {
    /// What `Chart.yaml` says.
    pub metadata: Metadata,
    /// `values.yaml`: the values unless others are given.
    pub values: Arc<Map>,
    /// `values.schema.json`: what the values must look like.
    pub schema: Option<Arc<[u8]>>,
    /// What is in `templates/`.
    pub templates: Vec<File>,
    /// All other files, those in `crds/` included.
    pub files: Vec<File>,
    /// What is in `charts/`.
    pub subcharts: Vec<Arc<Chart>>,
    /// What Helm says on the way: an old file name, for example.
    pub warnings: Vec<String>,
    /// The files as templates see them: made once, shared by all renderings.
    texts: OnceLock<Vec<(Str, Str)>>,
}

/// A chart that cannot be loaded. The words are Helm's.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing is there.
    #[error("path {0:?} not found")]
    NotFound(String),
    /// The file cannot be read.
    #[error("open {path}: {}", words(source))]
    Open {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file, but not an archive.
    #[error("file '{path}' {problem}")]
    NoArchive {
        /// The file.
        path: String,
        /// What it seems to be.
        problem: String,
    },
    /// The folder.
    #[error("{0}")]
    Folder(#[from] FolderError),
    /// The archive of a subchart.
    #[error("{0}")]
    Archive(#[from] ArchiveError),
    /// The chart's own archive, of which Helm says no more; the rest is ours.
    #[error("unable to load chart archive\n  {0}")]
    Unreadable(ArchiveError),
    /// An archive without it.
    #[error("unable to detect chart version, no Chart.yaml found")]
    NoVersion,
    /// An `apiVersion` nobody knows.
    #[error("unsupported chart version")]
    Unsupported,
    /// An `apiVersion` that is not installed yet.
    #[error("invalid chart apiVersion")]
    TooNew,
    /// One of the chart's own files.
    #[error("cannot load {file}: {problem}")]
    File {
        /// Its name.
        file: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// A folder without it.
    #[error("unable to detect chart at {0}: open {0}: no such file or directory")]
    Undetected(String),
    /// The same, where the system refused.
    #[error("unable to detect chart at {0}: open {0}: {1}", path.display(), words(source))]
    Undetectable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// No chart without it.
    #[error("Chart.yaml file is missing")]
    NoMetadata,
    /// `Chart.yaml` is refused.
    #[error("{0}")]
    Invalid(#[from] ValidationError),
    /// A subchart, with the same errors.
    #[error("error unpacking subchart {subchart} in {chart}: {problem}")]
    Subchart {
        /// Its folder or archive in `charts/`.
        subchart: String,
        /// The chart it is in.
        chart: String,
        /// What is wrong.
        problem: Box<LoadError>,
    },
    /// Charts in charts in charts.
    #[error("charts lie in each other more than {MAX_NESTED_CHARTS} deep")]
    TooDeep,
}

/// A chart that cannot be rendered on its own.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// A library.
    #[error("{0} charts are not installable")]
    Kind(String),
    /// Dependencies that are not in `charts/`.
    #[error(
        "an error occurred while checking for chart dependencies. You may need to run 'helm dependency build' to fetch missing dependencies: found in Chart.yaml, but missing in charts/ directory: {0}"
    )]
    Missing(String),
}

impl Chart {
    /// Loads a chart from its folder or its archive.
    ///
    /// # Errors
    /// When it is none, is broken, or is not within bounds.
    pub fn load(path: &Path, links: Links) -> Result<Arc<Self>, LoadError> {
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
            let version = detected(&data.unwrap_or_default())?;
            return version.built(read_folder(path, links)?, &mut Budget::default());
        }
        let size = std::fs::metadata(path).map_err(open)?.len();
        if size > crate::archive::MAX_CHART_BYTES {
            return Err(ArchiveError::TooLarge.into());
        }
        // What is no file, such as a pipe, has no size before it is read.
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

    /// Loads a chart from an archive's bytes.
    ///
    /// # Errors
    /// As [`Chart::load`].
    pub fn from_archive(bytes: &[u8]) -> Result<Arc<Self>, LoadError> {
        let mut budget = Budget::default();
        let files = read_archive(bytes, &mut budget).map_err(LoadError::Unreadable)?;
        let described = files.iter().find(|file| file.name == "Chart.yaml").ok_or(LoadError::NoVersion)?;
        detected(&described.data)?.built(files, &mut budget)
    }

    /// Makes a chart of files in memory.
    ///
    /// # Errors
    /// When `Chart.yaml`, `values.yaml` or a subchart is broken.
    pub fn from_files(files: Vec<File>) -> Result<Arc<Self>, LoadError> {
        build(files, &mut Budget::default(), 0)
    }

    pub(crate) fn texts(&self) -> &[(Str, Str)] {
        self.texts.get_or_init(|| self.files.iter().map(|file| (Str::new(&file.name), Str::new(&file.data))).collect())
    }

    /// Whether the chart can be rendered on its own: no library, and all dependencies are in `charts/`.
    ///
    /// # Errors
    /// In Helm's words.
    pub fn check_installable(&self) -> Result<(), InstallError> {
        if !matches!(self.metadata.kind.as_str(), "" | "application") {
            return Err(InstallError::Kind(self.metadata.kind.clone()));
        }
        let there = |name: &str| self.subcharts.iter().any(|chart| chart.name() == name);
        let wanted = self.metadata.dependencies.iter().flatten().map(|dependency| dependency.name.as_str());
        let missing: Vec<&str> = wanted.filter(|name| !there(name)).collect();
        if missing.is_empty() { Ok(()) } else { Err(InstallError::Missing(missing.join(", "))) }
    }

    /// The chart's name.
    pub fn name(&self) -> &str {
        &self.metadata.name
    }
}

/// What Helm sees at the first glance: the version alone.
enum Version {
    Known,
    TooNew,
}

impl Version {
    fn built(self, files: Vec<File>, budget: &mut Budget) -> Result<Arc<Chart>, LoadError> {
        let chart = build(files, budget, 0)?;
        match self {
            Self::Known => Ok(chart),
            Self::TooNew => Err(LoadError::TooNew),
        }
    }
}

fn detected(data: &[u8]) -> Result<Version, LoadError> {
    let described = typed::read_bytes(data).map_err(broken("Chart.yaml"))?;
    let empty = Map::new();
    let mut fields = Fields::of(described.as_object().unwrap_or(&empty), "chartBase");
    let version = fields.text("apiVersion");
    fields.done().map_err(broken("Chart.yaml"))?;
    match version.as_str() {
        "" | metadata::V1 | "v2" => Ok(Version::Known),
        "v3" => Ok(Version::TooNew),
        _ => Err(LoadError::Unsupported),
    }
}

fn not_an_archive(path: &str, bytes: &[u8]) -> String {
    if path.ends_with(".yml") || path.ends_with(".yaml") {
        return "seems to be a YAML file, but expected a gzipped archive".to_string();
    }
    // Helm looks at 512 bytes, and takes those that are not there for zeros, which no text has.
    let binary = |b: &u8| *b < 0x09 || (0x0e..0x20).contains(b) && *b != 0x1b;
    let kind = match bytes {
        [b'P', b'K', 3, 4, ..] => "application/zip",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ if bytes.len() < GLANCE_BYTES || bytes[..GLANCE_BYTES].iter().any(binary) => "application/octet-stream",
        _ => "text/plain; charset=utf-8",
    };
    format!("does not appear to be a gzipped archive; got '{kind}'")
}

fn broken(file: &'static str) -> impl Fn(DecodeError) -> LoadError {
    move |error| LoadError::File { file, problem: error.to_string() }
}

fn build(files: Vec<File>, budget: &mut Budget, depth: usize) -> Result<Arc<Chart>, LoadError> {
    if depth > MAX_NESTED_CHARTS {
        return Err(LoadError::TooDeep);
    }
    let mut chart = Chart::default();
    let mut subcharts: BTreeMap<String, Vec<File>> = BTreeMap::new();
    let mut described = false;
    // Of several, later ones say it anew.
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        described = true;
        let document = typed::read_bytes(&file.data).map_err(broken("Chart.yaml"))?;
        chart.metadata.read(&document).map_err(broken("Chart.yaml"))?;
        if chart.metadata.api_version.is_empty() {
            chart.metadata.api_version = metadata::V1.to_string();
        }
    }
    for file in files {
        described |= sort_in(file, &mut chart, &mut subcharts)?;
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

/// Puts a file where it belongs. Answers whether it says what the chart is.
fn sort_in(file: File, chart: &mut Chart, subcharts: &mut BTreeMap<String, Vec<File>>) -> Result<bool, LoadError> {
    let old = chart.metadata.api_version == metadata::V1;
    match file.name.as_str() {
        "Chart.yaml" | "Chart.lock" => {}
        "values.yaml" => {
            chart.values = Arc::new(values::read_bytes(&file.data).map_err(broken("values.yaml"))?);
        }
        "values.schema.json" => chart.schema = Some(file.data),
        "requirements.yaml" => {
            if !old {
                chart.warnings.push(moved("Dependencies are handled in Chart.yaml", "dependencies to Chart.yaml"));
            }
            let document = typed::read_bytes(&file.data).map_err(broken("requirements.yaml"))?;
            chart.metadata.read(&document).map_err(broken("requirements.yaml"))?;
            if old {
                chart.files.push(file);
            }
            return Ok(true);
        }
        "requirements.lock" => {
            if old {
                chart.files.push(file);
            } else {
                chart.warnings.push(moved("Dependency locking is handled in Chart.lock", "to Chart.lock"));
            }
            return Ok(true);
        }
        name if name.starts_with("templates/") => chart.templates.push(file),
        name if name.starts_with("charts/") && !name.ends_with(".prov") => {
            let inner = &name["charts/".len()..];
            let folder = inner.split('/').next().unwrap_or(inner).to_string();
            let file = File { name: inner.to_string(), data: file.data };
            subcharts.entry(folder).or_default().push(file);
        }
        _ => chart.files.push(file),
    }
    Ok(false)
}

fn moved(what: &str, to: &str) -> String {
    format!("Warning: {what} since apiVersion \"v2\". We recommend migrating {to}.")
}

fn subchart(name: &str, files: Vec<File>, budget: &mut Budget, depth: usize) -> Result<Arc<Chart>, LoadError> {
    if name.ends_with(".tgz") {
        // A folder of that name is no archive.
        let Some(archive) = files.first().filter(|file| file.name == name) else {
            return Err(LoadError::NoMetadata);
        };
        let files = read_archive(&archive.data, budget)?;
        return build(files, budget, depth + 1);
    }
    let inside = |file: File| {
        let (_, inner) = file.name.split_once('/')?;
        Some(File { name: inner.to_string(), data: file.data })
    };
    build(files.into_iter().filter_map(inside).collect(), budget, depth + 1)
}
