//! `switchboard plugs render`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use serde_json::{Value, json};
use switchboard_object::yaml;
use switchboard_plugs::apparatus::config_values;
use switchboard_plugs::model::Action;
use switchboard_plugs::preview::{Files, Preview, preview};
use switchboard_plugs::render::{Engine, Who};

use crate::failure::Failure;
use crate::form;
use crate::talk::say;

/// Renders a plug and a socket from files.
#[derive(Args)]
pub struct Render {
    /// Files with a Plug, a Socket, and the Secrets, ConfigMaps and other objects they read; `-` is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The plug, when there are several
    #[arg(long, value_name = "NAME")]
    plug: Option<String>,
    /// What the apparatus of a side answers to `/config`, as YAML or JSON: `socket=answer.yaml`. Without it, what needs the answer is left out
    #[arg(long, value_name = "SIDE=FILE", value_parser = answer)]
    answer: Vec<(Who, PathBuf)>,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Form {
    /// Documents, each object behind a comment that says when it is made
    #[default]
    Yaml,
    /// For programs
    Json,
}

/// Files that are not what is wanted.
#[derive(Debug, thiserror::Error)]
enum RenderError {
    /// A file cannot be read.
    #[error("could not read {}", .0.display())]
    Read(PathBuf, #[source] std::io::Error),
    /// It is no YAML.
    #[error("could not read {}: {}", .0.display(), .1)]
    Yaml(PathBuf, String),
    /// None of a kind.
    #[error("no {0} is in the files\nhint: give a file with a Plug and one with the Socket it names")]
    None(&'static str),
    /// Several.
    #[error("{0} plugs are in the files\nhint: choose one with --plug NAME: {1}")]
    Several(usize, String),
    /// The socket is missing.
    #[error("the socket {0} is not in the files")]
    NoSocket(String),
    /// No answer of an apparatus.
    #[error("the answer in {} must be a map, and is {}\nhint: write what POST /config answers, such as {{\"realm\": \"example\"}}", .0.display(), .1)]
    NoAnswer(PathBuf, &'static str),
    /// Two answers of one.
    #[error("two answers are given for the {0}\nhint: give one --answer for each side")]
    Twice(&'static str),
}

/// `socket=answer.yaml`.
fn answer(text: &str) -> Result<(Who, PathBuf), String> {
    let (side, file) = text.split_once('=').unwrap_or((text, ""));
    let who = Who::BOTH.into_iter().find(|who| who.word() == side);
    match who.filter(|_| !file.is_empty()) {
        Some(who) => Ok((who, PathBuf::from(file))),
        None => Err("write plug=FILE or socket=FILE".to_string()),
    }
}

impl Render {
    /// Prints what would be done.
    pub fn run(self) -> Result<(), Failure> {
        let mut objects = Vec::new();
        for file in &self.files {
            objects.extend(read(file)?);
        }
        let (plug, socket) = self.pair(&objects)?;
        // The same files render the same: neither the time nor chance is taken from the machine.
        let engine = Engine::new(Timestamp::UNIX_EPOCH, "offline");
        let preview = preview(&plug, &socket, &self.given(objects)?, &engine)?;
        preview.left_out.iter().for_each(|left| say(format_args!("note: left out: {left}")));
        for who in &preview.unanswered {
            let side = who.word();
            say(format_args!(
                "hint: write what POST /config of the {side}'s apparatus answers to a file, and give it with --answer {side}=FILE"
            ));
        }
        match self.output {
            Form::Json => form::write(&format!("{}\n", serde_json::to_string_pretty(&preview)?)),
            Form::Yaml => form::write(&documents(&preview)),
        }
    }

    /// The objects, and what was answered.
    fn given(&self, objects: Vec<Value>) -> Result<Files, RenderError> {
        let mut files = Files::new(objects);
        for (who, file) in &self.answer {
            if files.answer(*who).is_some() {
                return Err(RenderError::Twice(who.word()));
            }
            let wrong = |found| RenderError::NoAnswer(file.clone(), found);
            let said = match <[Value; 1]>::try_from(read(file)?) {
                Ok([said]) => config_values(said).map_err(wrong)?,
                Err(none) if none.is_empty() => return Err(wrong("empty")),
                Err(_) => return Err(wrong("several documents")),
            };
            files = files.answering(*who, said);
        }
        Ok(files)
    }

    fn pair(&self, objects: &[Value]) -> Result<(Value, Value), RenderError> {
        let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or_default().to_string();
        let plugs: Vec<&Value> =
            of("Plug").filter(|plug| self.plug.as_ref().is_none_or(|one| name(plug) == *one)).collect();
        let plug = match plugs.as_slice() {
            [] => return Err(RenderError::None("Plug")),
            [one] => *one,
            more => {
                let names: Vec<String> = more.iter().map(|plug| name(plug)).collect();
                return Err(RenderError::Several(more.len(), names.join(", ")));
            }
        };
        let sockets: Vec<&Value> = of("Socket").collect();
        let wanted = plug["spec"]["socket"]["name"].as_str().unwrap_or_default();
        match sockets.iter().find(|socket| name(socket) == wanted) {
            Some(socket) => Ok((plug.clone(), (*socket).clone())),
            None if sockets.is_empty() => Err(RenderError::None("Socket")),
            None => Err(RenderError::NoSocket(wanted.to_string())),
        }
    }
}

fn read(file: &Path) -> Result<Vec<Value>, RenderError> {
    let text = match file.to_str() {
        Some("-") => std::io::read_to_string(std::io::stdin()),
        _ => std::fs::read_to_string(file),
    };
    let text = text.map_err(|error| RenderError::Read(file.to_path_buf(), error))?;
    let documents = yaml::read_all(&text).map_err(|error| RenderError::Yaml(file.to_path_buf(), error.to_string()))?;
    Ok(documents.into_iter().map(|document| document.value).filter(|value| !value.is_null()).collect())
}

fn documents(preview: &Preview) -> String {
    let mut head = json!({"config": preview.config});
    if let Some(result) = &preview.result {
        head["result"] = json!(result);
    }
    let mut text = yaml::to_string(&head);
    for happening in &preview.events {
        for act in &happening.acts {
            let what = match act.action {
                Action::Apply => "apply",
                Action::Delete => "delete",
                Action::Recreate => "recreate",
            };
            let (event, side) = (happening.event.word(), happening.side.word());
            text.push_str(&format!("---\n# {event}, {side}: {what} ({})\n{}", act.place, yaml::to_string(&act.object)));
        }
    }
    text
}
