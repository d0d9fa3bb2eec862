//! What the types of [`Memory`] promise in words only, checked before writing as after reading: what could not be read
//! back is not written.

use super::{Departed, Memory, Remembered};
use crate::{
    model::{RepositoryId, Timestamp},
    snapshot::Languages,
};

/// What is wrong with `memory`, if anything is.
pub(super) fn check(memory: &Memory) -> Result<(), String> {
    if let Some(at) = first_out_of_order(&memory.repositories, |one, next| one.repository.id < next.repository.id) {
        return Err(format!("repository {} is out of order", at.repository.id));
    }
    for Remembered { repository, languages } in &memory.repositories {
        let in_repository = |error: String| format!("repository {}: {error}", repository.id);
        check_text("name", &repository.name).map_err(in_repository)?;
        repository.created_at.map_or(Ok(()), check_time).map_err(in_repository)?;
        languages.as_deref().map_or(Ok(()), check_languages).map_err(in_repository)?;
    }
    if let Some(at) = first_out_of_order(&memory.departed, |one, next| departed_key(one) < departed_key(next)) {
        return Err(format!("departed language {:?} of repository {} is out of order", at.code, at.repository));
    }
    for departed in &memory.departed {
        let in_departed = |error: String| format!("departed language of repository {}: {error}", departed.repository);
        check_text("code", &departed.code).map_err(in_departed)?;
        check_time(departed.progress.at).map_err(in_departed)?;
        check_time(departed.left_at).map_err(in_departed)?;
    }
    Ok(())
}

fn departed_key(departed: &Departed) -> (RepositoryId, &str) {
    (departed.repository, &departed.code)
}

fn check_languages(languages: &Languages) -> Result<(), String> {
    check_time(languages.read_at)?;
    if let Some(at) = first_out_of_order(&languages.readings, |one, next| one.language.code < next.language.code) {
        return Err(format!("language {:?} is out of order", at.language.code));
    }
    languages.readings.iter().try_for_each(|reading| {
        check_text("code", &reading.language.code)?;
        reading.progress().map_or(Ok(()), |progress| check_time(progress.at))
    })
}

/// The first item that `follows` does not let stand behind the one before it.
fn first_out_of_order<T>(items: &[T], follows: impl Fn(&T, &T) -> bool) -> Option<&T> {
    items.windows(2).find(|pair| !follows(&pair[0], &pair[1])).map(|pair| &pair[1])
}

fn check_text(what: &str, text: &str) -> Result<(), String> {
    if text.is_empty() { Err(format!("its {what} is empty")) } else { Ok(()) }
}

fn check_time(time: Timestamp) -> Result<(), String> {
    match jiff::Timestamp::from_millisecond(time.as_millis()) {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("{} is no time in milliseconds", time.as_millis())),
    }
}
