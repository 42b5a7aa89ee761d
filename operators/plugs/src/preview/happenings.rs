//! What every event makes and removes.

use std::cell::RefCell;

use serde_json::Value;

use super::{Act, Happening, PreviewError, trouble};
use crate::model::{Action, Event, Resource};
use crate::render::{Both, Engine, Pair, Rendered, Roots, Trouble, Values, Who, objects};

/// A pair with all that is known of it.
pub(super) struct Happenings<'a> {
    engine: &'a Engine,
    pair: Pair<'a>,
    config: &'a Both<Values>,
    result: Option<&'a Both<Values>>,
    /// Not all of the configs is known: what cannot be made of them is left out.
    is_partial: bool,
    left_out: RefCell<Vec<String>>,
}

impl<'a> Happenings<'a> {
    /// Of a pair with these configs and results.
    pub fn new(
        engine: &'a Engine,
        pair: Pair<'a>,
        config: &'a Both<Values>,
        result: Option<&'a Both<Values>>,
        is_partial: bool,
    ) -> Self {
        Self { engine, pair, config, result, is_partial, left_out: RefCell::default() }
    }

    /// Every event in order, and what is left out of them.
    pub fn all(self) -> Result<(Vec<Happening>, Vec<String>), PreviewError> {
        let all = self.events()?;
        Ok((all, self.left_out.into_inner()))
    }

    fn events(&self) -> Result<Vec<Happening>, PreviewError> {
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
        let entries = self.pair.side(side).resources.iter().filter(|entry| entry.when.contains(&event));
        self.rendered(side, entries, &root, self.is_partial && !alone).map_err(trouble(format!(
            "the objects of the {} at {}",
            side.word(),
            event.word()
        )))
    }

    fn of_result(&self, side: Who) -> Result<Vec<Rendered>, PreviewError> {
        let Some(result) = self.result else { return Ok(Vec::new()) };
        let root = Roots::pair(self.pair).config(self.config).result(result, side);
        self.rendered(side, self.pair.side(side).result_resources.iter(), &root, self.is_partial)
            .map_err(trouble(format!("the resultResources of the {}", side.word())))
    }

    fn rendered<'e>(
        &self,
        side: Who,
        entries: impl Iterator<Item = &'e Resource>,
        root: &Roots,
        is_partial: bool,
    ) -> Result<Vec<Rendered>, Trouble> {
        let (root, own) = (root.value(), self.pair.meta(side));
        let mut all = Vec::new();
        for entry in entries {
            match objects(self.engine, own, std::slice::from_ref(entry), |_| true, &root) {
                Ok(made) => all.extend(made),
                Err(trouble) if is_partial => self.leave_out(format!("an object of the {}: {trouble}", side.word())),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(all)
    }

    /// Says it once: an entry is for several events.
    fn leave_out(&self, words: String) {
        let mut all = self.left_out.borrow_mut();
        if !all.contains(&words) {
            all.push(words);
        }
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
