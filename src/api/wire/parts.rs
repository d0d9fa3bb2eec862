//! The separation of a JSON array or object into its parts, before anybody judges their bytes.

/// The parts of a JSON array or object, which commas separate. A part that is broken, or not UTF-8,
/// thus costs itself alone. Blank parts are skipped.
#[derive(Debug)]
pub struct Parts<'a> {
    rest: &'a [u8],
    is_over: bool,
}

impl<'a> Parts<'a> {
    /// Begins with the parts of `json`; `None` unless it begins with this bracket.
    pub fn of(json: &'a [u8], opening: u8) -> Option<Self> {
        let (first, rest) = json.trim_ascii().split_first()?;
        let is_over = false;
        (*first == opening).then_some(Self { rest, is_over })
    }

    /// Returns the text after the closing bracket; `None` if that has not been reached.
    pub fn after(&self) -> Option<&'a [u8]> {
        self.is_over.then_some(self.rest)
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        while !self.is_over {
            let end = end(self.rest)?;
            let (part, rest) = self.rest.split_at(end);
            self.is_over = rest[0] != b',';
            self.rest = &rest[1..];
            let part = part.trim_ascii();
            if !part.is_empty() {
                return Some(part);
            }
        }
        None
    }
}

/// Returns the place of the comma or bracket that ends the first part; `None` if it breaks off.
fn end(json: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0_usize, false, false);
    json.iter().position(|byte| {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b',' | b']' | b'}' if depth == 0 => return true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        false
    })
}
