//! The scenarios with rdkafka, the Rust client on librdkafka.
//!
//!     with_rdkafka SCENARIO SERVERS TOPIC RECORDS

use std::collections::BTreeSet;
use std::time::Duration;

use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::BorrowedMessage;
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};
use rdkafka::{ClientConfig, Message, Offset, TopicPartitionList};
use scenarios::{await_until, expect, expect_once, numbers, print, print_result, Args, Outcome, LIMIT, WRITES};

type Settings = [(&'static str, &'static str)];
type Done<T> = Result<T, Box<dyn std::error::Error>>;

const SHORT: Duration = Duration::from_millis(100);
const DISCONNECTED: KafkaError = KafkaError::MessageConsumption(RDKafkaErrorCode::BrokerTransportFailure); // librdkafka reconnects
const CODECS: [&str; 5] = ["none", "gzip", "snappy", "lz4", "zstd"];

#[tokio::main]
async fn main() {
    let args = &Args::read();
    print_result(match args.scenario.as_str() {
        "metadata" => metadata(args),
        "administration" => administration(args).await,
        "records" => records(args).await,
        "rebalance-classic" => rebalance(args, &[("partition.assignment.strategy", "range")]).await,
        "rebalance-cooperative" => rebalance(args, &[("partition.assignment.strategy", "cooperative-sticky")]).await,
        "rebalance-consumer" => rebalance(args, &[("group.protocol", "consumer")]).await,
        "transaction" => transaction(args).await,
        "abort-after-commit" => abort_after_commit(args).await,
        "unknown-topic" => unknown_topic(args).await,
        "too-large" => too_large(args).await,
        "crash-of-leader" => crash_of_leader(args).await,
        "crash-of-group-coordinator" => crash_of_group_coordinator(args).await,
        "crash-of-transaction-coordinator" => crash_of_transaction_coordinator(args).await,
        _ => return print("not offered", "the client has no API for it"),
    });
}

fn metadata(args: &Args) -> Outcome {
    let found = args.reader(&[])?.fetch_metadata(Some(&args.topic), LIMIT)?;
    expect(found.brokers().len() == 3, format!("{} brokers", found.brokers().len()))?;
    let partitions = found.topics()[0].partitions();
    expect(partitions.len() == 3, format!("{} partitions", partitions.len()))?;
    expect(partitions.iter().all(|one| one.leader() > 0 && one.replicas().len() == 3), "leaders or replicas")?;
    Ok(String::new())
}

async fn administration(args: &Args) -> Outcome {
    let admin: AdminClient<DefaultClientContext> = args.config(&[]).create()?;
    let new = NewTopic::new(&args.topic, 4, TopicReplication::Fixed(3));
    for created in admin.create_topics(&[new], &AdminOptions::new()).await? {
        created.map_err(|(topic, code)| format!("{topic}: {code}"))?;
    }
    await_until("the topic is not listed", || Ok(args.listed_partitions()? == Some(4)))?;
    for deleted in admin.delete_topics(&[&args.topic], &AdminOptions::new()).await? {
        deleted.map_err(|(topic, code)| format!("{topic}: {code}"))?;
    }
    await_until("the topic is listed", || Ok(args.listed_partitions()?.is_none()))?;
    Ok(String::new())
}

async fn records(args: &Args) -> Outcome {
    let mut wanted = Vec::new();
    for codec in CODECS {
        let mut config = args.config(&[("enable.idempotence", "true"), ("linger.ms", "5")]);
        let producer: FutureProducer = config.set("compression.type", codec).create()?;
        let values: Vec<String> = (0..args.records).map(|number| format!("{codec}-{number}")).collect();
        let mut sent = Vec::new();
        for value in &values {
            sent.push(producer.send_result(FutureRecord::<(), _>::to(&args.topic).payload(value)).map_err(|(error, _)| error)?);
        }
        for one in sent {
            one.await?.map_err(|(error, _)| error)?;
        }
        wanted.extend(values);
    }
    let member = args.member(&[])?;
    let mut seen = Vec::new();
    await_until("records are missing", || {
        while let Some(value) = next(&member)? {
            seen.push(value);
        }
        Ok(seen.len() >= wanted.len())
    })?;
    expect_once(&seen, &wanted)?;
    member.commit_consumer_state(CommitMode::Sync)?;
    drop(member);
    args.expect_committed(wanted.len())?;
    Ok(CODECS.join(", "))
}

async fn rebalance(args: &Args, settings: &Settings) -> Outcome {
    let first = args.member(settings)?;
    await_until("one member has not all partitions", || Ok(size_of(&first)? == 4))?;
    let second = args.member(settings)?;
    await_until("two members do not share", || Ok((size_of(&first)?, size_of(&second)?) == (2, 2)))?;
    let wanted = numbers(40);
    let producer = args.producer(&[])?;
    for (number, value) in wanted.iter().enumerate() {
        write(&producer, &args.topic, number as i32 % 4, value).await?;
    }
    let mut seen = Vec::new();
    await_until("records are missing", || {
        for one in [&first, &second] {
            seen.extend(next(one)?);
        }
        Ok(seen.len() >= wanted.len())
    })?;
    expect_once(&seen, &wanted)?;
    for one in [&first, &second] {
        one.commit_consumer_state(CommitMode::Sync)?;
    }
    drop(second);
    await_until("the remaining member has not all partitions", || Ok(size_of(&first)? == 4))?;
    Ok(String::new())
}

async fn transaction(args: &Args) -> Outcome {
    let target = format!("{}-out", args.topic);
    let wanted = numbers(12);
    args.write_each(&wanted).await?;
    let producer = args.transactional()?;
    let member = args.member(&[])?;
    let (mut done, mut is_aborted) = (0, false);
    let mut values = Vec::new();
    while done < wanted.len() {
        await_until("records are missing", || {
            values.extend(next(&member)?);
            Ok(values.len() == 4)
        })?;
        producer.begin_transaction()?;
        for value in &values {
            write(&producer, &target, 0, value).await?;
        }
        let group = member.group_metadata().ok_or("no group metadata")?;
        producer.send_offsets_to_transaction(&member.position()?, &group, LIMIT)?;
        if is_aborted {
            producer.commit_transaction(LIMIT)?;
            done += values.len();
        } else {
            producer.abort_transaction(LIMIT)?;
            is_aborted = true;
            args.expect_committed(0)?;
            member.seek(&args.topic, 0, Offset::Offset(0), LIMIT)?;
        }
        values.clear();
    }
    drop(member);
    args.expect_committed(wanted.len())?;
    args.expect_values(&target, &wanted)
}

async fn abort_after_commit(args: &Args) -> Outcome {
    let producer = args.transactional()?;
    let mut wanted = Vec::new();
    for number in 0..20 {
        producer.begin_transaction()?;
        write(&producer, &args.topic, 0, &format!("kept-{number}")).await?;
        producer.commit_transaction(LIMIT)?;
        producer.begin_transaction()?;
        write(&producer, &args.topic, 0, &format!("gone-{number}")).await?;
        producer.abort_transaction(LIMIT)?;
        wanted.push(format!("kept-{number}"));
    }
    args.expect_values(&args.topic, &wanted)
}

async fn unknown_topic(args: &Args) -> Outcome {
    let producer = args.producer(&[("topic.metadata.propagation.max.ms", "100")])?;
    let error = refusal(&producer, &args.topic, "lost").await;
    let known = [Some(RDKafkaErrorCode::UnknownTopic), Some(RDKafkaErrorCode::UnknownTopicOrPartition)];
    expect(known.contains(&error), format!("{error:?}"))?;
    Ok(String::new())
}

async fn too_large(args: &Args) -> Outcome {
    let producer = args.producer(&[("message.max.bytes", "10000000")])?;
    for (suffix, size, is_accepted) in WRITES {
        let topic = format!("{}{suffix}", args.topic);
        let error = refusal(&producer, &topic, &"v".repeat(size)).await;
        let wanted = if is_accepted { None } else { Some(RDKafkaErrorCode::MessageSizeTooLarge) };
        expect(error == wanted, format!("{size} bytes to {topic}: {error:?}"))?;
    }
    Ok(String::new())
}

async fn crash_of_leader(args: &Args) -> Outcome {
    let wanted = numbers(60);
    args.write_each(&wanted).await?;
    args.expect_values(&args.topic, &wanted)
}

async fn crash_of_group_coordinator(args: &Args) -> Outcome {
    let wanted = numbers(60);
    args.write_each(&wanted).await?;
    let member = args.member(&[])?;
    let mut seen = BTreeSet::new();
    await_until("records were not read and committed", || {
        for _ in 0..5 {
            seen.extend(next(&member)?);
        }
        // While the coordinator is down the commit fails; its successor gets a later one.
        Ok(member.commit_consumer_state(CommitMode::Sync).is_ok() && seen.len() == wanted.len())
    })?;
    drop(member);
    args.expect_committed(wanted.len())?;
    Ok(String::new())
}

async fn crash_of_transaction_coordinator(args: &Args) -> Outcome {
    let wanted = numbers(20);
    let producer = args.transactional()?;
    for value in &wanted {
        producer.begin_transaction()?;
        write(&producer, &args.topic, 0, value).await?;
        while let Err(error) = producer.commit_transaction(LIMIT) {
            let is_retriable = matches!(&error, KafkaError::Transaction(cause) if cause.is_retriable());
            expect(is_retriable, error.to_string())?;
        }
    }
    args.expect_values(&args.topic, &wanted)
}

// ---------------------------------------------------------------- what the scenarios use

trait Clients {
    fn config(&self, settings: &Settings) -> ClientConfig;
    fn producer(&self, settings: &Settings) -> KafkaResult<FutureProducer>;
    fn transactional(&self) -> KafkaResult<FutureProducer>;
    fn reader(&self, settings: &Settings) -> KafkaResult<BaseConsumer>;
    fn member(&self, settings: &Settings) -> KafkaResult<BaseConsumer>;
    /// Returns how many partitions the topic has, or None if it is not listed.
    fn listed_partitions(&self) -> Done<Option<usize>>;
    async fn write_each(&self, values: &[String]) -> Done<()>;
    /// Fails unless the offsets that the scenario's group has committed have this sum.
    fn expect_committed(&self, wanted: usize) -> Done<()>;
    /// Fails unless partition 0 has these values below its last stable offset, in this order.
    fn expect_values(&self, topic: &str, wanted: &[String]) -> Outcome;
}

impl Clients for Args {
    fn config(&self, settings: &Settings) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", &self.servers);
        for (name, value) in settings {
            config.set(*name, *value);
        }
        config
    }

    fn producer(&self, settings: &Settings) -> KafkaResult<FutureProducer> {
        self.config(settings).create()
    }

    fn transactional(&self) -> KafkaResult<FutureProducer> {
        let producer: FutureProducer = self.config(&[]).set("transactional.id", &self.topic).create()?;
        producer.init_transactions(LIMIT)?;
        Ok(producer)
    }

    fn reader(&self, settings: &Settings) -> KafkaResult<BaseConsumer> {
        let mut config = self.config(settings);
        config.set("group.id", &self.topic).set("enable.auto.commit", "false").set("auto.offset.reset", "earliest");
        config.create()
    }

    fn member(&self, settings: &Settings) -> KafkaResult<BaseConsumer> {
        let member = self.reader(settings)?;
        member.subscribe(&[&self.topic])?;
        Ok(member)
    }

    fn listed_partitions(&self) -> Done<Option<usize>> {
        let found = self.reader(&[])?.fetch_metadata(None, LIMIT)?;
        Ok(found.topics().iter().find(|one| one.name() == self.topic).map(|one| one.partitions().len()))
    }

    async fn write_each(&self, values: &[String]) -> Done<()> {
        let producer = self.producer(&[("enable.idempotence", "true")])?;
        for value in values {
            write(&producer, &self.topic, 0, value).await?;
        }
        Ok(())
    }

    fn expect_committed(&self, wanted: usize) -> Done<()> {
        let reader = self.reader(&[])?;
        let mut places = TopicPartitionList::new();
        for partition in 0..self.listed_partitions()?.unwrap_or(0) {
            places.add_partition(&self.topic, partition as i32);
        }
        let found = reader.committed_offsets(places, LIMIT)?;
        let sum: i64 = found.elements().iter().map(|one| match one.offset() {
            Offset::Offset(offset) => offset,
            _ => 0,
        }).sum();
        expect(sum == wanted as i64, format!("{sum} committed"))
    }

    fn expect_values(&self, topic: &str, wanted: &[String]) -> Outcome {
        let reader = self.reader(&[("isolation.level", "read_committed"), ("enable.partition.eof", "true")])?;
        let mut places = TopicPartitionList::new();
        places.add_partition_offset(topic, 0, Offset::Beginning)?;
        reader.assign(&places)?;
        let mut seen = Vec::new();
        await_until("the end is not reached", || loop {
            match reader.poll(SHORT) {
                Some(Err(KafkaError::PartitionEOF(_))) => return Ok(true),
                Some(Err(DISCONNECTED)) | None => return Ok(false),
                Some(message) => seen.push(value(&message?)),
            }
        })?;
        expect(seen == wanted, format!("read_committed: {seen:?}"))?;
        Ok(String::new())
    }
}

async fn write(producer: &FutureProducer, topic: &str, partition: i32, value: &str) -> KafkaResult<()> {
    let record = FutureRecord::<(), _>::to(topic).payload(value).partition(partition);
    producer.send(record, LIMIT).await.map(drop).map_err(|(error, _)| error)
}

/// Returns the error of one write, or None if it was accepted.
async fn refusal(producer: &FutureProducer, topic: &str, value: &str) -> Option<RDKafkaErrorCode> {
    let record = FutureRecord::<(), _>::to(topic).payload(value);
    producer.send(record, LIMIT).await.err().and_then(|(error, _)| error.rdkafka_error_code())
}

/// Returns the value of the next record, or None if there is none within a short time.
fn next(consumer: &BaseConsumer) -> Done<Option<String>> {
    match consumer.poll(SHORT).transpose() {
        Err(DISCONNECTED) => Ok(None),
        found => Ok(found?.map(|message| value(&message))),
    }
}

fn value(message: &BorrowedMessage) -> String {
    String::from_utf8_lossy(message.payload().unwrap_or_default()).into_owned()
}

/// Returns how many partitions the member has, after it has served its callbacks.
fn size_of(consumer: &BaseConsumer) -> Done<usize> {
    expect(next(consumer)?.is_none(), "a record too early")?;
    Ok(consumer.assignment()?.count())
}
