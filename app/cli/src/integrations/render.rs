//! `switchboard integrations render`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use switchboard_integrations::desired::{Desired, Target};
use switchboard_object::yaml;

use super::{What, chart, from, tell_problems};
use crate::failure::Failure;
use crate::talk::say;

/// How objects are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One document after the other
    #[default]
    Yaml,
    /// One document of all
    Json,
}

/// Writes the wanted objects.
#[derive(Args)]
pub struct Render {
    /// A directory, a bundle, or a commit as git:REV[:FOLDER]
    #[arg(long, value_name = "DIR|BUNDLE", required_unless_present = "values")]
    from: Option<String>,
    #[command(flatten)]
    what: What,
    /// Write files into this folder instead: CLUSTER/NAMESPACE/KIND-NAME, values.json, parameters.json
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// How to print objects
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
    /// Print the Template that the chart makes of a file of values instead: the manager's own deployment
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from", "output_dir"])]
    values: Option<PathBuf>,
}

impl Render {
    /// Prints or writes the objects. What is wrong is told, and the rest is written all the same.
    pub fn run(self) -> Result<ExitCode, Failure> {
        if let Some(file) = &self.values {
            return self.template(file);
        }
        let bundle = from::read(self.from.as_deref().unwrap_or_default())?;
        self.what.check(&[&bundle])?;
        let desired = self.what.builder()?.build(&bundle);
        match &self.output_dir {
            Some(dir) => self.write(dir, &desired)?,
            None => self.print(&desired)?,
        }
        Ok(if tell_problems(&desired) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn template(&self, file: &Path) -> Result<ExitCode, Failure> {
        let text =
            std::fs::read_to_string(file).map_err(|error| format!("could not read {}: {error}", file.display()))?;
        let values = switchboard_chart::values::read(&text)?;
        let printed = chart(self.what.chart.as_deref())?.printed(values)?;
        std::io::stdout().lock().write_all(printed.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    fn print(&self, desired: &Desired) -> Result<(), Failure> {
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        if self.output == Form::Json {
            let targets: Vec<Value> = desired.targets.values().map(|target| whole(desired, target)).collect();
            let all = json!({"bundle": desired.sha, "caller": desired.caller, "targets": targets});
            writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
            return Ok(out.flush()?);
        }
        for ((cluster, namespace), target) in &desired.targets {
            for object in target.objects() {
                let environment = &target.namespace.environment.name;
                writeln!(out, "---\n# cluster {cluster}, namespace {namespace}, environment {environment}")?;
                write!(out, "{}", yaml::to_string(&desired.marked(object)))?;
            }
        }
        Ok(out.flush()?)
    }

    fn write(&self, dir: &Path, desired: &Desired) -> Result<(), Failure> {
        let mut files = 0;
        for ((cluster, namespace), target) in &desired.targets {
            // Names of clusters and namespaces come from data: none may lead out of the folder.
            let parts = [&**cluster, &**namespace];
            if parts.iter().any(|part| part.is_empty() || part.starts_with('.') || part.contains('/')) {
                return Err(format!("{cluster:?}/{namespace:?} cannot be the name of a folder").into());
            }
            let folder = dir.join(&**cluster).join(&**namespace);
            std::fs::create_dir_all(&folder)?;
            for object in target.objects() {
                let body = desired.marked(object);
                let (end, text) = match self.output {
                    Form::Yaml => ("yaml", yaml::to_string(&body)),
                    Form::Json => ("json", format!("{}\n", serde_json::to_string_pretty(&body)?)),
                };
                std::fs::write(folder.join(format!("{}-{}.{end}", object.kind.kind, object.name)), text)?;
                files += 1;
            }
            let values = Value::Object(target.values());
            std::fs::write(folder.join("values.json"), format!("{}\n", serde_json::to_string_pretty(&values)?))?;
            let parameters = format!("{}\n", serde_json::to_string_pretty(&parameters(target))?);
            std::fs::write(folder.join("parameters.json"), parameters)?;
        }
        say(format_args!("wrote {files} objects of {} namespaces to {}", desired.targets.len(), dir.display()));
        Ok(())
    }
}

fn whole(desired: &Desired, target: &Target) -> Value {
    let objects: Vec<Value> = target.objects().into_iter().map(|object| desired.marked(object)).collect();
    json!({
        "cluster": &*target.namespace.cluster.name, "namespace": &*target.namespace.name,
        "environment": &*target.namespace.environment.name, "values": target.values(),
        "parameters": parameters(target), "objects": objects,
    })
}

fn parameters(target: &Target) -> Value {
    json!(&*target.shared_parameters)
}
