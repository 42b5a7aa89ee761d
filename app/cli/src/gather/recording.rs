//! Recording of writes to a served dump as a mutation directory.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use switchboard_cluster::dump::{RecordedWrite, WritableKind, WriteRecorder};
use switchboard_gather::contract::{ContractRules, ResourceType};
use switchboard_gather::discovery::Discovery;
use switchboard_gather::mutation::Naming;
use switchboard_gather::record::{CONTROLLER_HEADER, MutationRecorder, MutationRequest, to_mutation};

use super::name_key::NameKeyArg;
use super::{CompatArgs, declared_inputs};
use crate::failure::CommandError;

/// Flags for recording writes.
#[derive(Args)]
pub struct RecordingArgs {
    /// Accept writes and record them in this directory as mutations; reads still show the dump
    #[arg(long, value_name = "OUT")]
    record: Option<PathBuf>,
    /// File with the declared outputs: declared mutations go to the folders of their clusters, others to `Unspecified`
    #[arg(long, value_name = "FILE", requires = "record")]
    output_resources: Option<PathBuf>,
    /// Metadata key for object names: libraries of 2024 read `mame`, all libraries read `both`
    #[arg(long, value_name = "KEY", default_value = "name", requires = "record")]
    name_key: NameKeyArg,
    #[command(flatten)]
    compat: CompatArgs,
}

impl RecordingArgs {
    /// Starts the recorder, if one is configured.
    pub fn recorder(&self) -> Result<Option<Arc<MutationRecorder>>, CommandError> {
        let Some(path) = &self.record else { return Ok(None) };
        let outputs = self.output_resources.as_deref().map(declared_inputs::outputs).transpose()?;
        let naming = Naming { rules: self.compat.rules(), key: self.name_key.into(), ..Naming::default() };
        Ok(Some(Arc::new(MutationRecorder::create(path, outputs, naming)?)))
    }

    /// Returns the callback that records the writes of a server.
    pub fn write_handler(&self, recorder: Arc<MutationRecorder>) -> WriteRecorder {
        let rules = self.compat.rules();
        let keep = Arc::new(move |wish: &RecordedWrite| record_write(&recorder, wish, rules));
        WriteRecorder { controller_header: CONTROLLER_HEADER, keep }
    }
}

fn record_write(recorder: &MutationRecorder, wish: &RecordedWrite, rules: ContractRules) -> Result<(), String> {
    // multi-operator-manager checks the content type the client sent, not the one Switchboard derived.
    let content_type =
        if rules == ContractRules::MultiOperatorManager { &wish.original_content_type } else { &wish.content_type };
    let request = MutationRequest {
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
    let mutation = to_mutation(&request, rules).map_err(|error| error.to_string())?;
    recorder.record(&mutation).map_err(|error| crate::failure::message(&error))
}

/// Returns types that can be written even if the dump has no objects of them.
pub fn kinds(discovery: &Discovery) -> Vec<WritableKind> {
    let kind = |(of, served): (&ResourceType, &switchboard_gather::discovery::DiscoveredResource)| WritableKind {
        kind: served.kind.clone(),
        plural: of.resource.clone(),
        namespaced: served.namespaced,
    };
    discovery.types().map(kind).collect()
}
