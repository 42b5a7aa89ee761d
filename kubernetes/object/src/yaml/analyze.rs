//! Styles in which a scalar can be written: libyaml's analysis.

/// Style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarStyle {
    Plain,
    Single,
    Double,
    Literal,
}

/// Properties of a scalar's characters outside flow collections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarAnalysis {
    pub multiline: bool,
    pub plain_allowed: bool,
    pub single_allowed: bool,
    pub block_allowed: bool,
}

impl ScalarAnalysis {
    /// Returns the possible style nearest to the wanted one.
    pub fn style(&self, wanted: ScalarStyle, empty: bool, simple_key: bool) -> ScalarStyle {
        let mut style = if simple_key && self.multiline { ScalarStyle::Double } else { wanted };
        if style == ScalarStyle::Plain && (!self.plain_allowed || empty && simple_key) {
            style = ScalarStyle::Single;
        }
        if style == ScalarStyle::Single && !self.single_allowed {
            style = ScalarStyle::Double;
        }
        if style == ScalarStyle::Literal && (!self.block_allowed || simple_key) {
            style = ScalarStyle::Double;
        }
        style
    }
}

pub(super) fn analyze(text: &str) -> ScalarAnalysis {
    if text.is_empty() {
        return ScalarAnalysis { multiline: false, plain_allowed: true, single_allowed: true, block_allowed: false };
    }
    let mut indicators = text.starts_with("---") || text.starts_with("...");
    let (mut breaks, mut special, mut edge, mut trailing_space) = (false, false, false, false);
    let (mut break_space, mut space_break) = (false, false);
    let (mut previous_space, mut previous_break, mut after_blank) = (false, false, true);
    for (index, c) in text.char_indices() {
        let next = text.as_bytes().get(index + c.len_utf8());
        let is_last = next.is_none();
        let before_blank = matches!(next, None | Some(b' ' | b'\t'));
        indicators |= match c {
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`'
                if index == 0 =>
            {
                true
            }
            '?' | '-' if index == 0 => before_blank,
            ':' => before_blank,
            '#' => after_blank,
            _ => false,
        };
        special |= !is_printable(c);
        if c == ' ' {
            edge |= index == 0 || is_last;
            trailing_space |= is_last;
            break_space |= previous_break;
            (previous_space, previous_break) = (true, false);
        } else if is_break(c) {
            breaks = true;
            edge |= index == 0 || is_last;
            space_break |= previous_space;
            (previous_space, previous_break) = (false, true);
        } else {
            (previous_space, previous_break) = (false, false);
        }
        after_blank = matches!(c, ' ' | '\t' | '\0') || is_break(c);
    }
    let garbled = space_break || special;
    ScalarAnalysis {
        multiline: breaks,
        plain_allowed: !(edge || break_space || garbled || breaks || indicators),
        single_allowed: !(break_space || garbled),
        block_allowed: !(trailing_space || garbled),
    }
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

// Whether go-yaml prints a character unescaped. Its table ends at U+FFFD.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
}
