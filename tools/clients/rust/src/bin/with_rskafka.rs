//! The scenarios with rskafka, a client without groups, transactions and idempotent producers.
//!
//!     with_rskafka SCENARIO SERVERS TOPIC RECORDS

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::Record;
use scenarios::{expect, print, print_result, Args, Outcome, LIMIT, WRITES};

const REPLICAS: i16 = 3;
const TIMEOUT_MS: i32 = 10_000;

struct Connected {
    client: Client,
    topic: String,
}

#[tokio::main]
async fn main() {
    let args = Args::read();
    let servers = args.servers.split(',').map(str::to_owned).collect();
    let client = ClientBuilder::new(servers).build().await.expect("a broker");
    let connected = Connected { client, topic: args.topic };
    print_result(match args.scenario.as_str() {
        "metadata" => metadata(&connected).await,
        "administration" => administration(&connected).await,
        "unknown-topic" => unknown_topic(&connected).await,
        "too-large" => too_large(&connected).await,
        "records" | "crash-of-leader" => return print("not offered", "the client has no idempotent producer"),
        _ => return print("not offered", "the client has no API for it"),
    });
}

async fn metadata(args: &Connected) -> Outcome {
    let partitions = args.partitions().await?.ok_or("the topic is not listed")?;
    expect(partitions == 3, format!("{partitions} partitions"))?;
    Ok("the client shows no brokers".to_owned())
}

async fn administration(args: &Connected) -> Outcome {
    let admin = args.client.controller_client()?;
    admin.create_topic(&args.topic, 4, REPLICAS, TIMEOUT_MS).await?;
    args.await_partitions(Some(4)).await?;
    admin.delete_topic(&args.topic, TIMEOUT_MS).await?;
    args.await_partitions(None).await?;
    Ok(String::new())
}

async fn unknown_topic(args: &Connected) -> Outcome {
    let handling = UnknownTopicHandling::Error;
    match args.client.partition_client(&args.topic, 0, handling).await {
        Err(error) if is(&error, ProtocolError::UnknownTopicOrPartition) => Ok(String::new()),
        Err(error) => Err(error.into()),
        Ok(_) => Err("the topic exists".into()),
    }
}

async fn too_large(args: &Connected) -> Outcome {
    for (suffix, size, is_accepted) in WRITES {
        let topic = format!("{}{suffix}", args.topic);
        let writer = args.partition(&topic).await?;
        let result = writer.produce(vec![record(vec![b'v'; size])], Compression::NoCompression).await;
        let is_expected = match &result {
            Ok(_) => is_accepted,
            Err(error) => !is_accepted && is(error, ProtocolError::MessageTooLarge),
        };
        expect(is_expected, format!("{size} bytes to {topic}: {:?}", result.err()))?;
    }
    let large = args.partition(&format!("{}-large", args.topic)).await?;
    let end = large.get_offset(OffsetAt::Latest).await?;
    expect(end == 1, format!("the log ends at {end}"))?;
    Ok(String::new())
}

// ---------------------------------------------------------------- what the scenarios use

fn is(error: &Error, wanted: ProtocolError) -> bool {
    matches!(error, Error::ServerError { protocol_error, .. } if *protocol_error == wanted)
}

fn record(value: Vec<u8>) -> Record {
    Record { key: None, value: Some(value), headers: BTreeMap::new(), timestamp: chrono::Utc::now() }
}

impl Connected {
    /// Returns how many partitions the topic has, or None if it is not listed.
    async fn partitions(&self) -> Result<Option<usize>, Error> {
        let topics = self.client.list_topics().await?;
        Ok(topics.iter().find(|one| one.name == self.topic).map(|one| one.partitions.len()))
    }

    async fn await_partitions(&self, wanted: Option<usize>) -> Result<(), Box<dyn std::error::Error>> {
        let began = Instant::now();
        while self.partitions().await? != wanted {
            expect(began.elapsed() < LIMIT, format!("the topic has not {wanted:?} partitions"))?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    async fn partition(&self, topic: &str) -> Result<PartitionClient, Error> {
        self.client.partition_client(topic, 0, UnknownTopicHandling::Retry).await
    }
}
