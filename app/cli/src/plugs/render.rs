//! `switchboard plugs render`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_kernel::redact::REDACTED;
use switchboard_object::yaml;
use switchboard_plugs::apparatus::config_values;
use switchboard_plugs::model::ResourceAction;
use switchboard_plugs::preview::{CouplingPreview, PreviewFiles, preview, preview_with_secrets};
use switchboard_plugs::render::{CouplingSide, TemplateEngine};
use switchboard_runtime::stderr::print_stderr;

use crate::failure::CommandError;
use crate::output_format;

/// Render a plug and a socket from files
#[derive(Args)]
pub struct PlugsRender {
    /// Files with a Plug, a Socket, and the Secrets, ConfigMaps and other objects they read; `-` is stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Plug to render, if there are several
    #[arg(long, value_name = "NAME")]
    plug: Option<String>,
    /// File with an apparatus's response to `/config` for one side, as YAML or JSON: `socket=answer.yaml`; without it,
    /// the dependent parts are omitted
    #[arg(long, value_name = "SIDE=FILE", value_parser = answer)]
    answer: Vec<(CouplingSide, PathBuf)>,
    /// Print secret values; without this flag, values of Secrets, values that the interface marks as secret, and texts
    /// that depend on them are redacted
    #[arg(long)]
    show_secrets: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: PreviewFormat,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum PreviewFormat {
    /// YAML documents, each with a comment that names its event
    #[default]
    Yaml,
    /// JSON
    Json,
}

/// The files cannot be rendered.
#[derive(Debug, thiserror::Error)]
enum PlugsRenderError {
    /// A file could not be read.
    #[error("could not read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// A file is not valid YAML.
    #[error("could not read {}: {}", .0.display(), .1)]
    Yaml(PathBuf, String),
    /// The files have no object of a kind.
    #[error("the files have no {0}\nhint: pass a file with a Plug and one with the Socket it requests")]
    None(&'static str),
    /// The files have several plugs.
    #[error("the files have {0} plugs\nhint: choose one with --plug NAME: {1}")]
    Several(usize, String),
    /// The files do not have the requested socket.
    #[error("the files do not have the socket {0}")]
    NoSocket(String),
    /// A response of an apparatus is invalid.
    #[error("the response in {} must be a map, but is {}\nhint: write the response of POST /config, such as {{\"realm\": \"example\"}}", .0.display(), .1)]
    NoAnswer(PathBuf, &'static str),
    /// A side has two responses.
    #[error("there are two responses for the {0}\nhint: pass one --answer for each side")]
    Twice(&'static str),
}

/// Parses `socket=answer.yaml`.
fn answer(text: &str) -> Result<(CouplingSide, PathBuf), String> {
    let (side, file) = text.split_once('=').unwrap_or((text, ""));
    let coupling_side = CouplingSide::BOTH.into_iter().find(|coupling_side| coupling_side.as_str() == side);
    match coupling_side.filter(|_| !file.is_empty()) {
        Some(coupling_side) => Ok((coupling_side, PathBuf::from(file))),
        None => Err("expected plug=FILE or socket=FILE".to_string()),
    }
}

impl PlugsRender {
    /// Prints the preview.
    pub fn run(self) -> Result<(), CommandError> {
        let mut objects = Vec::new();
        for file in &self.files {
            objects.extend(read(file)?);
        }
        let (plug, socket) = self.plug_and_socket(&objects)?;
        // The output depends on the files only, not on the time or randomness of the machine.
        let engine = TemplateEngine::new(Timestamp::UNIX_EPOCH, "offline");
        let files = self.preview_files(objects)?;
        let preview = match self.show_secrets {
            true => preview_with_secrets(&plug, &socket, &files, &engine)?,
            false => preview(&plug, &socket, &files, &engine)?,
        };
        preview.omitted.iter().for_each(|left| print_stderr(format_args!("note: omitted: {left}")));
        for coupling_side in &preview.unanswered {
            let side = coupling_side.as_str();
            print_stderr(format_args!(
                "hint: write the response of POST /config of the {side}'s apparatus to a file, and pass it with --answer {side}=FILE"
            ));
        }
        let text = match self.output {
            PreviewFormat::Json => format!("{}\n", serde_json::to_string_pretty(&preview)?),
            PreviewFormat::Yaml => documents(&preview),
        };
        if !self.show_secrets && text.contains(REDACTED) {
            print_stderr("note: secret values are redacted; --show-secrets prints them");
        }
        output_format::write(&text)
    }

    /// Collects the objects and the responses.
    fn preview_files(&self, objects: Vec<Value>) -> Result<PreviewFiles, PlugsRenderError> {
        let mut files = PreviewFiles::new(objects);
        for (coupling_side, file) in &self.answer {
            if files.answer(*coupling_side).is_some() {
                return Err(PlugsRenderError::Twice(coupling_side.as_str()));
            }
            let wrong = |found| PlugsRenderError::NoAnswer(file.clone(), found);
            let parsed_answer = match <[Value; 1]>::try_from(read(file)?) {
                Ok([parsed_answer]) => config_values(parsed_answer).map_err(wrong)?,
                Err(none) if none.is_empty() => return Err(wrong("empty")),
                Err(_) => return Err(wrong("several documents")),
            };
            files = files.with_answer(*coupling_side, parsed_answer);
        }
        Ok(files)
    }

    fn plug_and_socket(&self, objects: &[Value]) -> Result<(Value, Value), PlugsRenderError> {
        let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_string();
        let plugs: Vec<&Value> =
            of("Plug").filter(|plug| self.plug.as_ref().is_none_or(|one| name(plug) == *one)).collect();
        let plug = match plugs.as_slice() {
            [] => return Err(PlugsRenderError::None("Plug")),
            [one] => *one,
            more => {
                let names: Vec<String> = more.iter().map(|plug| name(plug)).collect();
                return Err(PlugsRenderError::Several(more.len(), names.join(", ")));
            }
        };
        let sockets: Vec<&Value> = of("Socket").collect();
        let socket_name = plug["spec"]["socket"]["name"].as_str().unwrap_or_default();
        match sockets.iter().find(|socket| name(socket) == socket_name) {
            Some(socket) => Ok((plug.clone(), (*socket).clone())),
            None if sockets.is_empty() => Err(PlugsRenderError::None("Socket")),
            None => Err(PlugsRenderError::NoSocket(socket_name.to_string())),
        }
    }
}

fn read(file: &Path) -> Result<Vec<Value>, PlugsRenderError> {
    let text = match file.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| PlugsRenderError::Read(file.to_path_buf(), error))?;
    let documents =
        yaml::read_all(&text).map_err(|error| PlugsRenderError::Yaml(file.to_path_buf(), error.to_string()))?;
    Ok(documents.into_iter().map(|document| document.value).filter(|value| !value.is_null()).collect())
}

fn documents(preview: &CouplingPreview) -> String {
    let mut head = json!({"config": preview.config});
    if let Some(result) = &preview.result {
        head["result"] = json!(result);
    }
    let mut text = yaml::to_string(&head);
    for happening in &preview.events {
        for act in &happening.actions {
            let what = match act.action {
                ResourceAction::Apply => "apply",
                ResourceAction::Delete => "delete",
                ResourceAction::Recreate => "recreate",
            };
            let (event, side) = (happening.event.as_str(), happening.side.as_str());
            text.push_str(&format!("---\n# {event}, {side}: {what} ({})\n{}", act.path, yaml::to_string(&act.object)));
        }
    }
    text
}
