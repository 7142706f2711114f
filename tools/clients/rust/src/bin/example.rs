// cargo run --bin example -- 127.0.0.1:9092 http://127.0.0.1:8474
// Needs the crates rdkafka, tokio (features macros and rt-multi-thread) and ureq.

use std::time::Duration;

use rdkafka::producer::{FutureProducer, FutureRecord};
use rdkafka::ClientConfig;

fn control(url: &str, path: &str, json: &str) -> String {
    let response = ureq::post(&format!("{url}{path}")).send_string(json).expect("an accepted request");
    response.into_string().expect("a text")
}

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (servers, url) = (&words[1], &words[2]);
    control(url, "/topics", r#"{"name": "orders-rust"}"#);
    control(url, "/faults", r#"{"do": "crash", "when": {"api": "Produce", "topic": "orders-rust", "nth": 2}}"#);
    let producer: FutureProducer = ClientConfig::new()
        .set("bootstrap.servers", servers)
        .set("enable.idempotence", "true")
        .create()
        .expect("valid settings");
    for (offset, value) in ["one", "two", "three"].iter().enumerate() {
        let record = FutureRecord::<(), _>::to("orders-rust").partition(0).payload(*value);
        let sent = producer.send(record, Duration::from_secs(30)).await; // "two" goes to the next leader
        assert_eq!(sent.expect("an acknowledged record").offset, offset as i64);
    }
}
