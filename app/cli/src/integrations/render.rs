//! `switchboard integrations render`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use switchboard_integrations::desired::{DesiredNamespace, DesiredObjects};
use switchboard_object::yaml;
use switchboard_runtime::integrations::{bundle_source, chart};
use switchboard_runtime::stderr::print_stderr;

use super::{BuildArgs, report_problems};
use crate::failure::CommandError;

/// Output format of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ObjectFormat {
    /// YAML, a document per object
    #[default]
    Yaml,
    /// JSON, a single document
    Json,
}

/// Render the desired objects
#[derive(Args)]
pub struct IntegrationsRender {
    /// Data: a directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE", required_unless_present = "values")]
    from: Option<String>,
    #[command(flatten)]
    what: BuildArgs,
    /// Folder to write files to instead of stdout: CLUSTER/NAMESPACE/KIND-NAME, values.json, parameters.json
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: ObjectFormat,
    /// Values file of the manager's own deployment; print the Template that the chart renders from it instead
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "output_dir"])]
    values: Option<PathBuf>,
}

impl IntegrationsRender {
    /// Prints or writes the objects. Problems are reported, and the valid objects are written nevertheless.
    pub fn run(self) -> Result<ExitCode, CommandError> {
        if let Some(file) = &self.values {
            return self.template(file);
        }
        let bundle = bundle_source::read(self.from.as_deref().unwrap_or_default())?;
        self.what.check(&[&bundle])?;
        let desired = self.what.builder()?.build(&bundle);
        match &self.output_dir {
            Some(dir) => self.write(dir, &desired)?,
            None => self.print(&desired)?,
        }
        Ok(if report_problems(&desired) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn template(&self, file: &Path) -> Result<ExitCode, CommandError> {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("could not read {}: {error}", file.display()))?;
        let values = switchboard_chart::values::read(&text)?;
        let printed = chart(self.what.chart.as_deref())?.render_text(values)?;
        std::io::stdout().lock().write_all(printed.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, desired: &DesiredObjects) -> Result<(), CommandError> {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.output == ObjectFormat::Json {
            let targets: Vec<Value> = desired.namespaces.values().map(|target| whole(desired, target)).collect();
            let all = json!({"bundle": desired.sha, "caller": desired.caller, "targets": targets});
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
            return Ok(out.flush()?);
        }
        for ((cluster, namespace), target) in &desired.namespaces {
            for object in target.objects() {
                let environment = &target.namespace.environment.name;
                writeln!(out, "---\n# cluster {cluster}, namespace {namespace}, environment {environment}")?;
                write!(out, "{}", yaml::to_string(&desired.annotated(object)))?;
            }
        }
        Ok(out.flush()?)
    }

    fn write(&self, dir: &Path, desired: &DesiredObjects) -> Result<(), CommandError> {
        let mut files = 0;
        for ((cluster, namespace), target) in &desired.namespaces {
            // Names from the data must not lead out of the folder.
            let parts = [&**cluster, &**namespace];
            if parts.iter().any(|part| part.is_empty() || part.starts_with('.') || part.contains('/')) {
                return Err(format!("{cluster:?}/{namespace:?} is not a valid folder name").into());
            }
            let folder = dir.join(&**cluster).join(&**namespace);
            std::fs::create_dir_all(&folder)?;
            for object in target.objects() {
                let body = desired.annotated(object);
                let (end, text) = match self.output {
                    ObjectFormat::Yaml => ("yaml", yaml::to_string(&body)),
                    ObjectFormat::Json => ("json", format!("{}\n", serde_json::to_string_pretty(&body)?)),
                };
                std::fs::write(folder.join(format!("{}-{}.{end}", object.kind.kind, object.name)), text)?;
                files += 1;
            }
            let values = Value::Object(target.values());
            std::fs::write(folder.join("values.json"), format!("{}\n", serde_json::to_string_pretty(&values)?))?;
            let parameters = format!("{}\n", serde_json::to_string_pretty(&parameters(target))?);
            std::fs::write(folder.join("parameters.json"), parameters)?;
        }
        print_stderr(format_args!(
            "wrote {files} objects of {} namespaces to {}",
            desired.namespaces.len(),
            dir.display()
        ));
        Ok(())
    }
}

fn whole(desired: &DesiredObjects, target: &DesiredNamespace) -> Value {
    let objects: Vec<Value> = target.objects().into_iter().map(|object| desired.annotated(object)).collect();
    json!({
        "cluster": &*target.namespace.cluster.name, "namespace": &*target.namespace.name,
        "environment": &*target.namespace.environment.name, "values": target.values(),
        "parameters": parameters(target), "objects": objects,
    })
}

fn parameters(target: &DesiredNamespace) -> Value {
    json!(&*target.shared_parameters)
}
