// The scenarios with franz-go and its administration package, kadm.
//
//	franz SCENARIO SERVERS TOPIC RECORDS
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"clients/program"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

type args struct {
	program.Args
	ctx context.Context
}

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func main() {
	scenario := func(run func(args) string) func(program.Args) string {
		return func(given program.Args) string {
			ctx, cancel := context.WithTimeout(context.Background(), 85*time.Second)
			defer cancel()
			return run(args{given, ctx})
		}
	}
	program.Run(map[string]func(program.Args) string{
		"metadata":       scenario(metadata),
		"administration": scenario(administration),
		"records":        scenario(records),
		"rebalance-classic": scenario(func(a args) string {
			return rebalance(a, kgo.Balancers(kgo.RangeBalancer()))
		}),
		"rebalance-cooperative": scenario(func(a args) string {
			return rebalance(a, kgo.Balancers(kgo.CooperativeStickyBalancer()))
		}),
		"rebalance-consumer": scenario(func(a args) string {
			return rebalance(a, kgo.ServerSideBalancer())
		}),
		"transaction":                      scenario(transaction),
		"abort-after-commit":               scenario(abortAfterCommit),
		"unknown-topic":                    scenario(unknownTopic),
		"too-large":                        scenario(tooLarge),
		"crash-of-leader":                  scenario(crashOfLeader),
		"crash-of-group-coordinator":       scenario(crashOfGroupCoordinator),
		"crash-of-transaction-coordinator": scenario(crashOfTransactionCoordinator),
	})
}

func metadata(a args) string {
	admin := a.admin()
	defer admin.Close()
	found, err := admin.Metadata(a.ctx, a.Topic)
	program.Check(err)
	program.Expect(len(found.Brokers) == 3, "%d brokers", len(found.Brokers))
	topic := found.Topics[a.Topic]
	program.Expect(len(topic.Partitions) == 3, "%d partitions", len(topic.Partitions))
	for _, one := range topic.Partitions {
		program.Expect(one.Leader > 0 && len(one.Replicas) == 3, "%v", one)
	}
	return ""
}

func administration(a args) string {
	admin := a.admin()
	defer admin.Close()
	created, err := admin.CreateTopic(a.ctx, 4, 3, nil, a.Topic)
	program.Check(err)
	program.Check(created.Err)
	program.AwaitUntil("it is not listed", func() bool {
		topics, err := admin.ListTopics(a.ctx)
		program.Check(err)
		return topics.Has(a.Topic) && len(topics[a.Topic].Partitions) == 4
	})
	deleted, err := admin.DeleteTopic(a.ctx, a.Topic)
	program.Check(err)
	program.Check(deleted.Err)
	program.AwaitUntil("it is listed", func() bool {
		topics, err := admin.ListTopics(a.ctx)
		program.Check(err)
		return !topics.Has(a.Topic)
	})
	return ""
}

func records(a args) string {
	var wanted []string
	for name, codec := range codecs {
		producer := a.client(kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(5*time.Millisecond))
		for number := range a.Records {
			value := fmt.Sprintf("%s-%d", name, number)
			wanted = append(wanted, value)
			producer.Produce(a.ctx, record(a.Topic, value), func(_ *kgo.Record, err error) { program.Check(err) })
		}
		program.Check(producer.Flush(a.ctx))
		producer.Close()
	}
	consumer := a.member()
	var seen []string
	for len(seen) < len(wanted) {
		seen = append(seen, a.read(consumer, time.Second)...)
		program.Check(a.ctx.Err())
	}
	program.ExpectOnce(seen, wanted)
	program.Check(consumer.CommitUncommittedOffsets(a.ctx))
	consumer.Close()
	program.Expect(a.committed() == int64(len(wanted)), "%d committed", a.committed())
	return "none, gzip, snappy, lz4, zstd"
}

func rebalance(a args, options ...kgo.Opt) string {
	var seen []string
	first, second := &member{}, &member{}
	read := func() {
		for _, one := range []*member{first, second} {
			if one.client != nil {
				seen = append(seen, a.read(one.client, 100*time.Millisecond)...)
			}
		}
	}
	sizes := func(one, other int32) func() bool {
		return func() bool { read(); return first.size.Load() == one && second.size.Load() == other }
	}
	first.join(a, options)
	program.AwaitUntil("one member has not all partitions", sizes(4, 0))
	second.join(a, options)
	program.AwaitUntil("two members do not share", sizes(2, 2))
	var wanted []string
	producer := a.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for number := range int32(40) {
		wanted = append(wanted, fmt.Sprint(number))
		one := record(a.Topic, fmt.Sprint(number))
		one.Partition = number % 4
		program.Check(producer.ProduceSync(a.ctx, one).FirstErr())
	}
	producer.Close()
	program.AwaitUntil("records are missing", func() bool { read(); return len(seen) >= len(wanted) })
	program.ExpectOnce(seen, wanted)
	program.Check(first.client.CommitUncommittedOffsets(a.ctx))
	program.Check(second.client.CommitUncommittedOffsets(a.ctx))
	second.client.Close()
	second.client = nil
	program.AwaitUntil("the other has not all partitions", sizes(4, 0))
	first.client.Close()
	return ""
}

// member is a member of the scenario's group; size is how many partitions it has.
type member struct {
	client *kgo.Client
	size   atomic.Int32
}

func (m *member) join(a args, options []kgo.Opt) {
	add := func(sign int32) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, found map[string][]int32) {
			m.size.Add(sign * int32(len(found[a.Topic])))
		}
	}
	m.client = a.member(append(slices.Clone(options), kgo.OnPartitionsAssigned(add(1)),
		kgo.OnPartitionsRevoked(add(-1)), kgo.OnPartitionsLost(add(-1)))...)
}

func transaction(a args) string {
	wanted := a.writeEach(12)
	session, err := kgo.NewGroupTransactSession(a.options(
		kgo.TransactionalID(a.Topic), kgo.ConsumerGroup(a.Topic), kgo.ConsumeTopics(a.Topic), kgo.RequireStableFetchOffsets(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))...)
	program.Check(err)
	done, isAborted := 0, false
	for done < len(wanted) {
		polled := session.PollRecords(a.ctx, 4).Records()
		program.Check(a.ctx.Err())
		program.Check(session.Begin())
		for _, one := range polled {
			session.Produce(a.ctx, record(a.Topic+"-out", string(one.Value)), nil)
		}
		isCommitted, err := session.End(a.ctx, kgo.TransactionEndTry(isAborted))
		program.Check(err)
		if isCommitted {
			done += len(polled)
		}
		if !isAborted {
			program.Expect(a.committed() == 0, "the offsets of an aborted transaction are committed")
		}
		isAborted = true
	}
	session.Close()
	program.Expect(a.committed() == int64(len(wanted)), "%d committed", a.committed())
	a.expectValues(a.Topic+"-out", wanted)
	return ""
}

func abortAfterCommit(a args) string {
	var wanted []string
	producer := a.transactional()
	for number := range 20 {
		wanted = append(wanted, fmt.Sprintf("kept-%d", number))
		for _, word := range []string{"kept", "gone"} {
			program.Check(producer.BeginTransaction())
			program.Check(producer.ProduceSync(a.ctx, record(a.Topic, fmt.Sprintf("%s-%d", word, number))).FirstErr())
			program.Check(producer.EndTransaction(a.ctx, kgo.TransactionEndTry(word == "kept")))
		}
	}
	producer.Close()
	a.expectValues(a.Topic, wanted)
	return ""
}

func unknownTopic(a args) string {
	producer := a.client(kgo.UnknownTopicRetries(1))
	defer producer.Close()
	err := producer.ProduceSync(a.ctx, record(a.Topic, "lost")).FirstErr()
	program.Expect(errors.Is(err, kerr.UnknownTopicOrPartition), "%v", err)
	return ""
}

func tooLarge(a args) string {
	producer := a.client(kgo.ProducerBatchMaxBytes(10_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	defer producer.Close()
	for _, one := range []struct {
		suffix     string
		size       int
		isAccepted bool
	}{{"", 900_000, true}, {"", 1_100_000, false}, {"-small", 1_000, true}, {"-small", 3_000, false}, {"-large", 1_100_000, true}} {
		err := producer.ProduceSync(a.ctx, record(a.Topic+one.suffix, strings.Repeat("v", one.size))).FirstErr()
		if one.isAccepted {
			program.Check(err)
		} else {
			program.Expect(errors.Is(err, kerr.MessageTooLarge), "%v: %v", one, err)
		}
	}
	return ""
}

func crashOfLeader(a args) string {
	a.expectValues(a.Topic, a.writeEach(60))
	return ""
}

func crashOfGroupCoordinator(a args) string {
	wanted := a.writeEach(60)
	consumer := a.member()
	seen := map[string]bool{}
	program.AwaitUntil("records were not read and committed", func() bool {
		for _, one := range consumer.PollRecords(a.within(time.Second), 5).Records() {
			seen[string(one.Value)] = true
		}
		if consumer.CommitUncommittedOffsets(a.ctx) != nil {
			return false // the coordinator is down: its successor gets a later commit
		}
		return len(seen) == len(wanted) && a.committed() == int64(len(wanted))
	})
	consumer.Close()
	return ""
}

func crashOfTransactionCoordinator(a args) string {
	var wanted []string
	producer := a.transactional()
	for number := range 20 {
		wanted = append(wanted, fmt.Sprint(number))
		program.Check(producer.BeginTransaction())
		program.Check(producer.ProduceSync(a.ctx, record(a.Topic, fmt.Sprint(number))).FirstErr())
		program.Check(producer.EndTransaction(a.ctx, kgo.TryCommit))
	}
	producer.Close()
	a.expectValues(a.Topic, wanted)
	return ""
}

// ---------------------------------------------------------------- what the scenarios use

func record(topic, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Value: []byte(value)}
}

func (a args) options(more ...kgo.Opt) []kgo.Opt {
	return append([]kgo.Opt{kgo.SeedBrokers(strings.Split(a.Servers, ",")...)}, more...)
}

func (a args) client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(a.options(options...)...)
	program.Check(err)
	return client
}

func (a args) admin() *kadm.Client { return kadm.NewClient(a.client()) }

func (a args) transactional() *kgo.Client { return a.client(kgo.TransactionalID(a.Topic)) }

func (a args) member(options ...kgo.Opt) *kgo.Client {
	return a.client(append(options, kgo.ConsumerGroup(a.Topic), kgo.ConsumeTopics(a.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit())...)
}

func (a args) within(limit time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	time.AfterFunc(limit, cancel)
	return ctx
}

func (a args) read(client *kgo.Client, limit time.Duration) (values []string) {
	for _, one := range client.PollFetches(a.within(limit)).Records() {
		values = append(values, string(one.Value))
	}
	return values
}

func (a args) writeEach(count int) (values []string) {
	producer := a.client()
	defer producer.Close()
	for number := range count {
		values = append(values, fmt.Sprint(number))
		program.Check(producer.ProduceSync(a.ctx, record(a.Topic, fmt.Sprint(number))).FirstErr())
	}
	return values
}

// committed returns the sum of the offsets that the group has committed, or -1 while its coordinator is down.
func (a args) committed() (total int64) {
	admin := a.admin()
	defer admin.Close()
	found, err := admin.FetchOffsets(a.ctx, a.Topic)
	if err != nil {
		return -1
	}
	found.Each(func(one kadm.OffsetResponse) { total += max(one.At, 0) })
	return total
}

// expectValues compares the values of a topic's one partition, below its last stable offset.
func (a args) expectValues(topic string, wanted []string) {
	consumer := a.client(kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer consumer.Close()
	var seen []string
	for len(seen) < len(wanted) && a.ctx.Err() == nil {
		seen = append(seen, a.read(consumer, time.Second)...)
	}
	seen = append(seen, a.read(consumer, time.Second)...)
	program.Expect(slices.Equal(seen, wanted), "read_committed: %v", seen)
}
