//! Basic authentication against bcrypt hashes.
//!
//! A hash is expensive on purpose, so it is computed off the runtime's threads and one at a time, and the last password
//! that was right is remembered for each user, as a keyed digest that is of no use outside this process. An unknown user
//! costs as much as a known one, so that the time tells nothing.

use crate::sync::lock;
use axum::http::{HeaderMap, header};
use base64::{Engine, engine::general_purpose::STANDARD};
use ring::{hmac, rand::SystemRandom};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

/// How long a request waits for the ones before it to be verified.
const PATIENCE: Duration = Duration::from_secs(15);

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Admitted,
    /// No credentials, or wrong ones.
    Refused,
    /// Too many credentials wait to be verified.
    Busy,
}

/// The users of `basic_auth_users`.
pub struct Users {
    hashes: BTreeMap<String, Arc<str>>,
    /// The digest of the last right password of each user.
    verified: Mutex<BTreeMap<String, Vec<u8>>>,
    digest_key: hmac::Key,
    turn: Arc<Semaphore>,
}

impl Users {
    /// Each hash has passed [`Self::check_hash`]; there is at least one. An error where the system has no random numbers.
    pub fn new(hashes: Vec<(String, String)>) -> Result<Self, ring::error::Unspecified> {
        Ok(Self {
            hashes: hashes.into_iter().map(|(name, hash)| (name, hash.into())).collect(),
            verified: Mutex::default(),
            digest_key: hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())?,
            turn: Arc::new(Semaphore::new(1)),
        })
    }

    /// Whether `hash` can be verified against.
    pub fn check_hash(hash: &str) -> Result<(), String> {
        let parts: bcrypt::HashParts = hash.parse().map_err(|error: bcrypt::BcryptError| error.to_string())?;
        if (4..=31).contains(&parts.get_cost()) {
            return Ok(());
        }
        Err(format!("its cost is {}, and must be 4 to 31", parts.get_cost()))
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hashes.keys().map(String::as_str)
    }

    /// Judges the credentials of a request.
    pub async fn judge(&self, headers: &HeaderMap) -> Verdict {
        let Some((user, password)) = credentials(headers) else { return Verdict::Refused };
        let digest = self.digest(&user, &password);
        if self.is_verified(&user, &digest) {
            return Verdict::Admitted;
        }
        let turn = timeout(PATIENCE, Arc::clone(&self.turn).acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Verdict::Busy };
        // Another request with the same credentials may have been verified meanwhile.
        if self.is_verified(&user, &digest) {
            return Verdict::Admitted;
        }
        let known = self.hashes.contains_key(&user);
        let Some(hash) = self.hashes.get(&user).or_else(|| self.decoy(&user)).map(Arc::clone) else {
            return Verdict::Refused;
        };
        let verified = tokio::task::spawn_blocking(move || {
            let is_right = bcrypt::verify(password, &hash);
            // The turn lasts as long as the work does, also where the client has gone away.
            drop(turn);
            is_right
        });
        // Awaited for unknown users too: that is what it is done for.
        let is_right = matches!(verified.await, Ok(Ok(true)));
        if known && is_right {
            lock(&self.verified).insert(user, digest);
            return Verdict::Admitted;
        }
        Verdict::Refused
    }

    fn is_verified(&self, user: &str, digest: &[u8]) -> bool {
        let verified = lock(&self.verified);
        // Both sides are digests under a secret key: how far they agree tells nothing about the password.
        verified.get(user).is_some_and(|known| known == digest)
    }

    fn digest(&self, user: &str, password: &[u8]) -> Vec<u8> {
        // A user name has no colon, so that the two cannot be mistaken for another pair.
        hmac::sign(&self.digest_key, &[user.as_bytes(), b":", password].concat()).as_ref().to_vec()
    }

    /// The hash that an unknown user's password is compared with, for the time it takes. It is always the same one for a
    /// name, so that asking again tells nothing where costs differ.
    fn decoy(&self, user: &str) -> Option<&Arc<str>> {
        let choice = hmac::sign(&self.digest_key, user.as_bytes()).as_ref()[0];
        self.hashes.values().nth(usize::from(choice) % self.hashes.len().max(1))
    }
}

/// User and password of `Authorization: Basic` (RFC 7617).
fn credentials(headers: &HeaderMap) -> Option<(String, Vec<u8>)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = STANDARD.decode(encoded.trim()).ok()?;
    let colon = decoded.iter().position(|byte| *byte == b':')?;
    let user = String::from_utf8_lossy(&decoded[..colon]).into_owned();
    Some((user, decoded[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the lowest cost.
    fn hash_of(password: &str) -> String {
        bcrypt::hash(password, 4).unwrap()
    }

    fn request(user: &str, password: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let encoded = STANDARD.encode(format!("{user}:{password}"));
        headers.insert(header::AUTHORIZATION, format!("Basic {encoded}").parse().unwrap());
        headers
    }

    #[tokio::test]
    async fn only_the_right_password_of_a_known_user_is_admitted() {
        let users =
            Users::new(vec![("alice".to_owned(), hash_of("correct")), ("bob".to_owned(), hash_of("b:ob"))]).unwrap();
        for _ in 0..2 {
            assert_eq!(users.judge(&request("alice", "correct")).await, Verdict::Admitted);
            assert_eq!(users.judge(&request("bob", "b:ob")).await, Verdict::Admitted);
            for (user, password) in [
                ("alice", "wrong"),
                ("alice", ""),
                ("bob", "correct"),
                ("carol", "correct"),
                ("", ""),
                ("ALICE", "correct"),
            ] {
                assert_eq!(users.judge(&request(user, password)).await, Verdict::Refused, "{user} {password}");
            }
        }
    }

    #[tokio::test]
    async fn what_are_no_credentials_is_refused() {
        let users = Users::new(vec![("alice".to_owned(), hash_of("correct"))]).unwrap();
        assert_eq!(users.judge(&HeaderMap::new()).await, Verdict::Refused);
        for value in ["Basic", "Basic ", "Basic !!!", "Bearer YWxpY2U6Y29ycmVjdA==", "Basic YWxpY2U="] {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            assert_eq!(users.judge(&headers).await, Verdict::Refused, "{value}");
        }
    }

    #[tokio::test]
    async fn an_unknown_user_costs_what_a_known_one_costs_and_is_refused_even_with_the_password_of_another() {
        let users = Users::new(vec![("alice".to_owned(), hash_of("correct"))]).unwrap();
        assert_eq!(users.decoy("mallory"), users.hashes.get("alice"));
        assert_eq!(users.judge(&request("mallory", "correct")).await, Verdict::Refused);
    }

    #[tokio::test]
    async fn a_verification_is_waited_for_also_of_an_unknown_user_and_keeps_its_turn_where_the_client_goes_away() {
        // Expensive enough not to be done before it is looked at.
        let hash = "$2b$12$".to_owned() + &hash_of("correct")[7..];
        let users = Users::new(vec![("alice".to_owned(), hash)]).unwrap();
        let judged = timeout(Duration::from_millis(1), users.judge(&request("mallory", "correct"))).await;
        assert!(judged.is_err(), "it is not answered before the work is done");
        assert_eq!(users.turn.available_permits(), 0);
        let _turn = users.turn.acquire().await.unwrap();
    }

    #[test]
    fn what_is_no_bcrypt_hash_is_refused() {
        let good = hash_of("x");
        for prefix in ["$2a$", "$2b$", "$2y$"] {
            assert_eq!(Users::check_hash(&good.replacen("$2b$", prefix, 1)), Ok(()));
        }
        for bad in
            ["", "secret", "$1$abc", &good[1..], &good.replacen("$04$", "$03$", 1), &good.replacen("$04$", "$32$", 1)]
        {
            assert!(Users::check_hash(bad).is_err(), "{bad}");
        }
    }
}
