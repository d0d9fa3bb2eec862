//! A poll with bare reqwest calls, without pacing, retries, checks or a result: the lower bound of
//! the cost of a poll.

use crate::Outcome;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;
use std::{hint::black_box, time::Instant};

#[derive(Deserialize)]
struct Repository {
    id: u64,
    #[expect(dead_code, reason = "a real client decodes it, too")]
    name: String,
    #[expect(dead_code, reason = "a real client decodes it, too")]
    private: bool,
    #[expect(dead_code, reason = "a real client decodes it, too")]
    created_at: String,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "a real client decodes it, too")]
struct Language {
    code: String,
    name: String,
    completion: f64,
}

pub fn run(root: &str, concurrency: &str) -> Outcome {
    let concurrency: usize = concurrency.parse()?;
    // reqwest needs a default provider even for http; the exporter uses ring, too.
    let _ = rustls::crypto::ring::default_provider().install_default();
    crate::block_on(async {
        let client = &reqwest::Client::builder().tls_certs_only([]).build()?;
        let started = Instant::now();
        let mut ids: Vec<u64> = Vec::new();
        loop {
            let after = ids
                .last()
                .map(|id| format!("&after={id}"))
                .unwrap_or_default();
            let body = client
                .get(format!("{root}/v1/repositories?limit=1000{after}"))
                .bearer_auth("bench")
                .send()
                .await?
                .bytes()
                .await?;
            let page: Vec<Repository> = serde_json::from_slice(&body)?;
            if page.is_empty() {
                break;
            }
            ids.extend(page.iter().map(|repository| repository.id));
        }
        let languages: usize = stream::iter(&ids)
            .map(|id| async move {
                let request = client
                    .get(format!("{root}/v1/repositories/{id}/languages"))
                    .bearer_auth("bench");
                let body = request.send().await?.bytes().await?;
                let languages: Vec<Language> = serde_json::from_slice(&body)?;
                Ok::<_, Box<dyn std::error::Error>>(black_box(languages).len())
            })
            .buffer_unordered(concurrency)
            .try_fold(0, async |all, some| Ok(all + some))
            .await?;
        let seconds = started.elapsed().as_secs_f64();
        println!(
            "{}",
            json!({ "repositories": ids.len(), "languages": languages, "seconds": seconds })
        );
        Ok(())
    })
}
