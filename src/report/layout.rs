//! How much of each language fits.

use unicode_width::UnicodeWidthStr as _;

/// Columns of a repository's bar.
pub(super) const BAR: usize = 10;
/// The name, two blanks, the bar, a blank, the percentage and its sign.
const BESIDE_NAME: usize = 2 + BAR + 1 + 4;

/// Columns of the title of the names.
const TITLE: usize = "REPOSITORY".len();

/// How a language is shown in each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// A bar and a number.
    Bar,
    /// A number.
    Number,
    /// A character whose height is the completion.
    Height,
}

/// Where everything stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns of the names of repositories.
    pub name: usize,
    pub style: Style,
    /// Columns of each language, the gap before it included.
    pub columns: Vec<usize>,
    /// Whether the codes are written from top to bottom.
    pub upright: bool,
    /// How many languages fit side by side; more are shown in further tables.
    pub per_table: usize,
}

/// The most telling layout that fits `width` columns and leaves names enough to be told apart.
pub(super) fn layout(width: usize, longest_name: usize, codes: &[String]) -> Layout {
    let beside_languages = width.saturating_sub(BESIDE_NAME);
    let longest_name = longest_name.max(TITLE);
    let side_by_side = |content: usize, gap: usize| -> Vec<usize> {
        codes.iter().map(|code| content.max(code.width()) + gap).collect()
    };
    let even = |column: usize| vec![column; codes.len()];
    let wide = (width * 3 / 10).max(20);
    let candidates = [
        (Style::Bar, side_by_side(10, 3), false, wide),
        (Style::Number, side_by_side(3, 2), false, wide),
        (Style::Number, side_by_side(3, 1), false, wide),
        (Style::Number, even(4), true, 20),
        (Style::Height, even(2), true, 20),
        (Style::Height, even(1), true, 16),
    ];
    for (style, columns, upright, least_name) in candidates {
        // Languages without gaps of their own stand after one blank.
        let needed = columns.iter().sum::<usize>() + usize::from(columns.first() == Some(&1));
        if needed + longest_name.min(least_name) <= beside_languages {
            let name = longest_name.min(beside_languages - needed);
            return Layout { name, style, columns, upright, per_table: codes.len().max(1) };
        }
    }
    let name = longest_name.min(16);
    let room = beside_languages.saturating_sub(name + 1).max(1);
    let per_table = codes.len().div_ceil(codes.len().div_ceil(room).max(1)).max(1);
    Layout { name, style: Style::Height, columns: even(1), upright: true, per_table }
}
