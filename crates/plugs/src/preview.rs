//! What a plug and a socket would do, from files alone: no cluster is asked, nothing is written.

mod files;

use serde::Serialize;
use serde_json::Value;

use crate::model::{Action, Event, ModelError, Plug, Resource, Socket};
use crate::render::{
    Both, Engine, Pair, Rendered, Roots, Trouble, Values, Who, check_interface, config, data, objects, result, vars,
};

pub use files::Files;

/// What would be done.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The configurations, as the interface lets them through.
    pub config: Both<Values>,
    /// The results; absent when they need what only a cluster has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Both<Values>>,
    /// Every event with what it makes, in order.
    pub events: Vec<Happening>,
    /// What is left out, and why.
    pub left_out: Vec<String>,
}

/// One event on one side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Happening {
    /// Which.
    pub event: Event,
    /// On which side.
    pub side: Who,
    /// In order.
    pub acts: Vec<Act>,
}

/// What is done with one object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Act {
    /// Which template it is of.
    pub place: String,
    /// What is done.
    pub action: Action,
    /// The object.
    pub object: Value,
}

/// Why nothing can be said.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// A field cannot be read.
    #[error("could not read the {0}")]
    Model(&'static str, #[source] ModelError),
    /// Plug and socket do not fit.
    #[error("the plug does not fit the socket: {0}")]
    Unfit(String),
    /// Something cannot be computed.
    #[error("could not make {what}")]
    Trouble {
        /// What.
        what: String,
        /// Why.
        #[source]
        source: Trouble,
    },
}

fn trouble(what: impl Into<String>) -> impl FnOnce(Trouble) -> PreviewError {
    let what = what.into();
    move |source| PreviewError::Trouble { what, source }
}

/// What a plug and a socket would do, with the Secrets, ConfigMaps and other objects that they name given as `files`.
///
/// # Errors
/// [`PreviewError`] names what is wrong with them.
pub fn preview(plug: &Value, socket: &Value, files: &Files, engine: &Engine) -> Result<Preview, PreviewError> {
    let plug = Plug::read(plug).map_err(|error| PreviewError::Model("plug", error))?;
    let socket = Socket::read(socket).map_err(|error| PreviewError::Model("socket", error))?;
    let pair = Pair { plug: &plug, socket: &socket };
    check_interface(pair).map_err(PreviewError::Unfit)?;
    let mut left_out: Vec<String> = Who::BOTH
        .into_iter()
        .filter(|who| pair.side(*who).apparatus.is_some())
        .map(|who| format!("the apparatus of the {} is not asked: what its /config adds is left out", who.word()))
        .collect();
    let data = data(files, pair).map_err(trouble("the data"))?;
    let config_of = |who: Who| {
        let own = vars(files, engine, pair, who, &pair.side(who).vars)
            .map_err(trouble(format!("the vars of the {}", who.word())))?;
        config(files, engine, pair, who, &data, &own, None)
            .map_err(trouble(format!("the config of the {}", who.word())))
    };
    let config = Both { plug: config_of(Who::Plug)?, socket: config_of(Who::Socket)? };
    let result = match results(files, engine, pair, &data, &config) {
        Ok(result) => Some(result),
        Err(Trouble::Missing(why)) => {
            left_out.push(format!("the results, and what is made of them: {why}"));
            None
        }
        Err(source) => return Err(PreviewError::Trouble { what: "the results".to_string(), source }),
    };
    let events = Happenings { engine, pair, config: &config, result: result.as_ref() }.all()?;
    Ok(Preview { config, result, events, left_out })
}

fn results(
    files: &Files,
    engine: &Engine,
    pair: Pair<'_>,
    data: &Both<Values>,
    config: &Both<Values>,
) -> Result<Both<Values>, Trouble> {
    let plug = result(files, engine, pair, Who::Plug, data, config)?;
    Ok(Both { plug, socket: result(files, engine, pair, Who::Socket, data, config)? })
}

struct Happenings<'a> {
    engine: &'a Engine,
    pair: Pair<'a>,
    config: &'a Both<Values>,
    result: Option<&'a Both<Values>>,
}

impl Happenings<'_> {
    fn all(&self) -> Result<Vec<Happening>, PreviewError> {
        let mut all = Vec::new();
        for event in Event::ALL {
            for side in Who::BOTH {
                all.push(Happening { event, side, acts: self.acts(event, side)? });
            }
            if matches!(event, Event::Coupled | Event::Updated) {
                // Of results, the socket's objects come first.
                for side in [Who::Socket, Who::Plug] {
                    let made = self.of_result(side)?;
                    let place = all.iter_mut().rev().find(|one| one.event == event && one.side == side);
                    place.expect("both sides have every event").acts.extend(made.into_iter().map(act));
                }
            }
        }
        Ok(all)
    }

    fn acts(&self, event: Event, side: Who) -> Result<Vec<Act>, PreviewError> {
        let mut acts: Vec<Act> = self.at(event, side)?.into_iter().map(act).collect();
        match event {
            Event::Decoupled => acts.extend(self.going(side, &[Event::Coupled, Event::Updated])?),
            Event::Deleted => acts.extend(self.going(side, &[Event::Created])?),
            _ => {}
        }
        Ok(acts)
    }

    fn at(&self, event: Event, side: Who) -> Result<Vec<Rendered>, PreviewError> {
        let alone = matches!(event, Event::Created | Event::Deleted);
        let root = match (alone, side) {
            (true, Who::Plug) => Roots::alone(side, &self.pair.plug.seen),
            (true, Who::Socket) => Roots::alone(side, &self.pair.socket.seen),
            (false, _) => Roots::pair(self.pair).config(self.config),
        };
        self.rendered(side, &self.pair.side(side).resources, |entry| entry.when.contains(&event), &root)
            .map_err(trouble(format!("the objects of the {} at {}", side.word(), event.word())))
    }

    fn of_result(&self, side: Who) -> Result<Vec<Rendered>, PreviewError> {
        let Some(result) = self.result else { return Ok(Vec::new()) };
        let root = Roots::pair(self.pair).config(self.config).result(result, side);
        self.rendered(side, &self.pair.side(side).result_resources, |_| true, &root)
            .map_err(trouble(format!("the resultResources of the {}", side.word())))
    }

    fn rendered(
        &self,
        side: Who,
        entries: &[Resource],
        takes: impl Fn(&Resource) -> bool,
        root: &Roots,
    ) -> Result<Vec<Rendered>, Trouble> {
        objects(self.engine, self.pair.meta(side), entries, takes, &root.value())
    }

    /// What was made at these events goes, the last first.
    fn going(&self, side: Who, events: &[Event]) -> Result<Vec<Act>, PreviewError> {
        let mut made = Vec::new();
        for event in events {
            made.extend(self.at(*event, side)?);
        }
        if events.contains(&Event::Coupled) {
            made.extend(self.of_result(side)?);
        }
        let mut going: Vec<Act> = Vec::new();
        for one in made.into_iter().filter(|one| one.goes) {
            if !going.iter().any(|other| same(&other.object, &one.object)) {
                going.push(Act { action: Action::Delete, object: reference(&one.object), place: one.place });
            }
        }
        going.reverse();
        Ok(going)
    }
}

fn act(rendered: Rendered) -> Act {
    Act { place: rendered.place, action: rendered.action, object: rendered.object }
}

fn same(one: &Value, other: &Value) -> bool {
    ["/apiVersion", "/kind", "/metadata/namespace", "/metadata/name"]
        .iter()
        .all(|pointer| one.pointer(pointer) == other.pointer(pointer))
}

/// An object by name: what a deletion needs of it.
fn reference(object: &Value) -> Value {
    let metadata = &object["metadata"];
    serde_json::json!({
        "apiVersion": object["apiVersion"],
        "kind": object["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
    })
}

#[cfg(test)]
mod tests;
