//! Writes to a dump, kept as a mutation directory.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use switchboard_cluster::frozen::{Kind, Recorder as Keeper, Wish};
use switchboard_gather::contract::{ResourceType, Rules};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::Naming;
use switchboard_gather::record::{Recorder, Request, mutation_of};

use super::name_key::Key;
use super::{Compat, declared};
use crate::failure::Failure;

/// What becomes of writes.
#[derive(Args)]
pub struct Recording {
    /// Take writes too, and keep them in this directory as mutations; reads go on showing the dump
    #[arg(long, value_name = "OUT")]
    record: Option<PathBuf>,
    /// What the operator declares to write: mutations go to the folders of its clusters, the rest to `Unspecified`
    #[arg(long, value_name = "FILE", requires = "record")]
    output_resources: Option<PathBuf>,
    /// Under which key metadata files have an object's name: libraries of 2024 read `mame`, and any reads `both`
    #[arg(long, value_name = "KEY", default_value = "name", requires = "record")]
    name_key: Key,
    #[command(flatten)]
    compat: Compat,
}

impl Recording {
    /// The recorder, when one is asked for.
    pub fn begin(&self) -> Result<Option<Arc<Recorder>>, Failure> {
        let Some(path) = &self.record else { return Ok(None) };
        let outputs = self.output_resources.as_deref().map(declared::outputs).transpose()?;
        let naming = Naming { rules: self.compat.rules(), key: self.name_key.into(), ..Naming::default() };
        Ok(Some(Arc::new(Recorder::begin(path, outputs, naming)?)))
    }

    /// What a server hands writes to.
    pub fn keeper(&self, recorder: Arc<Recorder>) -> Keeper {
        let rules = self.compat.rules();
        Arc::new(move |wish: &Wish| keep(&recorder, wish, rules))
    }
}

fn keep(recorder: &Recorder, wish: &Wish, rules: Rules) -> Result<(), String> {
    // What the original takes is decided by what a client says, not by what we make of it.
    let content_type = if rules == Rules::Original { &wish.sent_as } else { &wish.content_type };
    let request = Request {
        verb: wish.verb,
        of: ResourceType::new(&wish.kind.group, &wish.kind.version, &wish.plural),
        kind: &wish.kind.kind,
        subresource: &wish.subresource,
        namespace: &wish.namespace,
        name: &wish.name,
        content_type,
        query: &wish.query,
        body: &wish.body,
        controller: &wish.controller,
    };
    let mutation = mutation_of(&request, rules).map_err(|error| error.to_string())?;
    recorder.keep(&mutation).map_err(|error| crate::failure::tell(&error))
}

/// Kinds that can be written although the dump has none of them.
pub fn kinds(discovery: &Discovery) -> Vec<Kind> {
    let kind = |(of, served): (&ResourceType, &switchboard_gather::discovery::Served)| Kind {
        kind: served.kind.clone(),
        plural: of.resource.clone(),
        namespaced: served.namespaced,
    };
    discovery.types().map(kind).collect()
}
