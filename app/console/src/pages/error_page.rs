//! Page of an error.

use maud::{Markup, html};

use crate::problem::ConsoleProblem;

/// Renders an error.
pub fn error_page(problem: &ConsoleProblem) -> Markup {
    let title = match problem {
        ConsoleProblem::NotFound(_) => "Not there",
        ConsoleProblem::BadRequest(_) | ConsoleProblem::Rejected(..) => "Not understood",
        ConsoleProblem::TooMany(_) => "Too many",
        ConsoleProblem::TokenRequired | ConsoleProblem::InvalidToken(_) => "Sign in first",
        ConsoleProblem::Forbidden(_) | ConsoleProblem::ForeignSite(_) => "Not allowed",
        ConsoleProblem::Cluster(_) => "A cluster does not answer",
        ConsoleProblem::Fleet(_) => "Not done",
        ConsoleProblem::Stopped(_) => "Switchboard has stopped",
    };
    html! {
        div.head { div { p.crumbs { (problem.status().as_u16()) } h1 { (title) } } }
        p.note.bad { (problem.to_string()) }
        p { span.faint { "hint: " } (problem.hint()) }
    }
}
