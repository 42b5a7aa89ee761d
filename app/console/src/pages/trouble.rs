//! What could not be shown.

use maud::{Markup, html};

use crate::problem::Problem;

/// A problem.
pub fn trouble(problem: &Problem) -> Markup {
    let title = match problem {
        Problem::Missing(_) => "Not there",
        Problem::Unclear(_) | Problem::Refused(..) => "Not understood",
        Problem::Full(_) => "Too many",
        Problem::Unknown | Problem::Stranger(_) => "Sign in first",
        Problem::Denied(_) | Problem::Foreign(_) => "Not allowed",
        Problem::Cluster(_) => "A cluster does not answer",
        Problem::Fleet(_) => "Not done",
        Problem::Stopped(_) => "Switchboard has stopped",
    };
    html! {
        div.head { div { p.crumbs { (problem.status().as_u16()) } h1 { (title) } } }
        p.note.bad { (problem.to_string()) }
        p { span.faint { "hint: " } (problem.hint()) }
    }
}
