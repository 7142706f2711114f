// The scenarios with sarama.
//
//	sarama SCENARIO SERVERS TOPIC RECORDS
package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"clients/program"

	"github.com/IBM/sarama"
)

type args struct{ program.Args }

var codecs = map[string]sarama.CompressionCodec{
	"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
	"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
}

func main() {
	scenarios := map[string]func(args) string{
		"metadata":          metadata,
		"administration":    administration,
		"records":           records,
		"rebalance-classic": func(a args) string { return rebalance(a, sarama.NewBalanceStrategyRange()) },
		"rebalance-cooperative": func(a args) string {
			return rebalance(a, sarama.NewBalanceStrategyCooperativeSticky())
		},
		"transaction":                      transaction,
		"abort-after-commit":               abortAfterCommit,
		"unknown-topic":                    unknownTopic,
		"too-large":                        tooLarge,
		"crash-of-leader":                  crashOfLeader,
		"crash-of-group-coordinator":       crashOfGroupCoordinator,
		"crash-of-transaction-coordinator": crashOfTransactionCoordinator,
	}
	wrapped := map[string]func(program.Args) string{}
	for name, run := range scenarios {
		wrapped[name] = func(given program.Args) string { return run(args{given}) }
	}
	program.Run(wrapped)
}

func metadata(a args) string {
	admin := a.admin()
	defer admin.Close()
	brokers, _, err := admin.DescribeCluster()
	program.Check(err)
	program.Expect(len(brokers) == 3, "%d brokers", len(brokers))
	topics, err := admin.DescribeTopics([]string{a.Topic})
	program.Check(err)
	program.Expect(len(topics[0].Partitions) == 3, "%d partitions", len(topics[0].Partitions))
	for _, one := range topics[0].Partitions {
		program.Expect(one.Leader > 0 && len(one.Replicas) == 3, "%v", one)
	}
	return ""
}

func administration(a args) string {
	admin := a.admin()
	defer admin.Close()
	program.Check(admin.CreateTopic(a.Topic, &sarama.TopicDetail{NumPartitions: 4, ReplicationFactor: 3}, false))
	isListed := func() bool {
		topics, err := admin.ListTopics()
		program.Check(err)
		found, ok := topics[a.Topic]
		program.Expect(!ok || found.NumPartitions == 4, "%v", found)
		return ok
	}
	program.AwaitUntil("it is not listed", isListed)
	program.Check(admin.DeleteTopic(a.Topic))
	program.AwaitUntil("it is listed", func() bool { return !isListed() })
	return ""
}

func records(a args) string {
	var wanted []string
	for name, codec := range codecs {
		config := idempotent()
		config.Producer.Compression = codec
		producer := a.producer(config)
		var messages []*sarama.ProducerMessage
		for number := range a.Records {
			value := fmt.Sprintf("%s-%d", name, number)
			wanted = append(wanted, value)
			messages = append(messages, message(a.Topic, value))
		}
		program.Check(producer.SendMessages(messages))
		program.Check(producer.Close())
	}
	one := a.member(1000)
	program.AwaitUntil("records are missing", func() bool { return len(one.values()) >= len(wanted) })
	program.ExpectOnce(one.values(), wanted)
	one.leave()
	program.Expect(a.committed() == int64(len(wanted)), "%d committed", a.committed())
	return "none, gzip, snappy, lz4, zstd"
}

func rebalance(a args, strategy sarama.BalanceStrategy) string {
	first := a.member(1000, strategy)
	program.AwaitUntil("one member has not all partitions", func() bool { return first.size() == 4 })
	second := a.member(1000, strategy)
	program.AwaitUntil("two members do not share", func() bool { return first.size() == 2 && second.size() == 2 })
	config := sarama.NewConfig()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer := a.producer(config)
	var wanted []string
	for number := range int32(40) {
		one := message(a.Topic, fmt.Sprint(number))
		one.Partition = number % 4
		wanted = append(wanted, fmt.Sprint(number))
		program.Check(send(producer, one))
	}
	both := func() []string { return append(first.values(), second.values()...) }
	program.AwaitUntil("records are missing", func() bool { return len(both()) >= len(wanted) })
	program.ExpectOnce(both(), wanted)
	second.leave()
	program.AwaitUntil("the other has not all partitions", func() bool { return first.size() == 4 })
	first.leave()
	return ""
}

func transaction(a args) string {
	wanted := a.writeEach(12)
	producer := a.transactional()
	consumer, err := sarama.NewConsumer(a.servers(), settings(sarama.NewConfig()))
	program.Check(err)
	source, err := consumer.ConsumePartition(a.Topic, 0, sarama.OffsetOldest)
	program.Check(err)
	copied := func(polled []*sarama.ConsumerMessage, isCommitted bool) {
		program.Check(producer.BeginTxn())
		for _, one := range polled {
			program.Check(send(producer, message(a.Topic+"-out", string(one.Value))))
		}
		program.Check(producer.AddMessageToTxn(polled[len(polled)-1], a.Topic, nil))
		if isCommitted {
			program.Check(producer.CommitTxn())
		} else {
			program.Check(producer.AbortTxn())
			program.Expect(a.committed() == 0, "the offsets of an aborted transaction are committed")
		}
	}
	for done := 0; done < len(wanted); done += 4 {
		var polled []*sarama.ConsumerMessage
		for range 4 {
			polled = append(polled, <-source.Messages())
		}
		if done == 0 {
			copied(polled, false)
		}
		copied(polled, true)
	}
	program.Expect(a.committed() == int64(len(wanted)), "%d committed", a.committed())
	a.expectValues(a.Topic+"-out", wanted)
	return ""
}

func abortAfterCommit(a args) string {
	var wanted []string
	producer := a.transactional()
	for number := range 20 {
		wanted = append(wanted, fmt.Sprintf("kept-%d", number))
		program.Check(producer.BeginTxn())
		program.Check(send(producer, message(a.Topic, fmt.Sprintf("kept-%d", number))))
		program.Check(producer.CommitTxn())
		program.Check(producer.BeginTxn())
		program.Check(send(producer, message(a.Topic, fmt.Sprintf("gone-%d", number))))
		program.Check(producer.AbortTxn())
	}
	a.expectValues(a.Topic, wanted)
	return ""
}

func unknownTopic(a args) string {
	producer := a.producer(sarama.NewConfig())
	err := send(producer, message(a.Topic, "lost"))
	program.Expect(errors.Is(err, sarama.ErrUnknownTopicOrPartition), "%v", err)
	return ""
}

func tooLarge(a args) string {
	config := sarama.NewConfig()
	config.Producer.MaxMessageBytes = 10_000_000
	producer := a.producer(config)
	for _, one := range []struct {
		suffix     string
		size       int
		isAccepted bool
	}{{"", 900_000, true}, {"", 1_100_000, false}, {"-small", 1_000, true}, {"-small", 3_000, false}, {"-large", 1_100_000, true}} {
		err := send(producer, message(a.Topic+one.suffix, strings.Repeat("v", one.size)))
		if one.isAccepted {
			program.Check(err)
		} else {
			program.Expect(errors.Is(err, sarama.ErrMessageSizeTooLarge), "%v: %v", one, err)
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
	one := a.member(10)
	program.AwaitUntil("records were not read and committed", func() bool {
		one.commit() // fails while the coordinator is down: its successor gets a later commit
		seen := one.values()
		slices.Sort(seen)
		return len(slices.Compact(seen)) == len(wanted) && a.committed() == int64(len(wanted))
	})
	one.leave()
	return ""
}

func crashOfTransactionCoordinator(a args) string {
	var wanted []string
	producer := a.transactional()
	for number := range 20 {
		wanted = append(wanted, fmt.Sprint(number))
		program.Check(producer.BeginTxn())
		program.Check(send(producer, message(a.Topic, fmt.Sprint(number))))
		program.Check(producer.CommitTxn())
	}
	a.expectValues(a.Topic, wanted)
	return ""
}

// ---------------------------------------------------------------- what the scenarios use

func settings(config *sarama.Config) *sarama.Config {
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Retry.Max = 200
	config.Producer.Transaction.Retry.Max = 100
	config.Metadata.AllowAutoTopicCreation = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	return config
}

func idempotent() *sarama.Config {
	config := sarama.NewConfig()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	return config
}

func message(topic, value string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
}

func send(producer sarama.SyncProducer, one *sarama.ProducerMessage) error {
	_, _, err := producer.SendMessage(one)
	return err
}

func (a args) servers() []string { return strings.Split(a.Servers, ",") }

func (a args) producer(config *sarama.Config) sarama.SyncProducer {
	producer, err := sarama.NewSyncProducer(a.servers(), settings(config))
	program.Check(err)
	return producer
}

func (a args) transactional() sarama.SyncProducer {
	config := idempotent()
	config.Producer.Transaction.ID = a.Topic
	return a.producer(config)
}

func (a args) admin() sarama.ClusterAdmin {
	admin, err := sarama.NewClusterAdmin(a.servers(), settings(sarama.NewConfig()))
	program.Check(err)
	return admin
}

func (a args) writeEach(count int) (values []string) {
	producer := a.producer(idempotent())
	defer producer.Close()
	for number := range count {
		values = append(values, fmt.Sprint(number))
		program.Check(send(producer, message(a.Topic, fmt.Sprint(number))))
	}
	return values
}

// member is a member of the scenario's group. It commits after so many records, and at the end of a claim.
type member struct {
	every   int64
	mutex   sync.Mutex
	seen    []string
	claims  int
	group   sarama.ConsumerGroup
	session sarama.ConsumerGroupSession
	cancel  context.CancelFunc
	ended   chan struct{}
}

func (a args) member(every int64, strategies ...sarama.BalanceStrategy) *member {
	config := settings(sarama.NewConfig())
	if strategies != nil {
		config.Consumer.Group.Rebalance.GroupStrategies = strategies
	}
	group, err := sarama.NewConsumerGroup(a.servers(), a.Topic, config)
	program.Check(err)
	ctx, cancel := context.WithCancel(context.Background())
	one := &member{every: every, group: group, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(one.ended)
		for ctx.Err() == nil {
			if group.Consume(ctx, []string{a.Topic}, one) != nil {
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	return one
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.session = session
	return nil
}

func (m *member) commit() {
	m.mutex.Lock()
	session := m.session
	m.mutex.Unlock()
	if session != nil {
		session.Commit()
	}
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	m.add(1)
	defer m.add(-1)
	for one := range claim.Messages() {
		m.mutex.Lock()
		m.seen = append(m.seen, string(one.Value))
		m.mutex.Unlock()
		session.MarkMessage(one, "")
		if one.Offset%m.every == m.every-1 {
			session.Commit()
		}
	}
	session.Commit()
	return nil
}

func (m *member) add(claims int) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.claims += claims
}

func (m *member) values() []string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.seen)
}

func (m *member) size() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.claims
}

func (m *member) leave() {
	m.cancel()
	<-m.ended
	program.Check(m.group.Close())
}

// committed returns the sum of the offsets that the group has committed, or -1 while its coordinator is down.
func (a args) committed() (total int64) {
	admin := a.admin()
	defer admin.Close()
	found, err := admin.ListConsumerGroupOffsets(a.Topic, nil)
	if err != nil {
		return -1
	}
	for _, one := range found.Blocks[a.Topic] {
		total += max(one.Offset, 0)
	}
	return total
}

// expectValues compares the values of a topic's one partition, below its last stable offset.
func (a args) expectValues(topic string, wanted []string) {
	consumer, err := sarama.NewConsumer(a.servers(), settings(sarama.NewConfig()))
	program.Check(err)
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	program.Check(err)
	var seen []string
	for wait := 20 * time.Second; ; {
		select {
		case one := <-partition.Messages():
			seen = append(seen, string(one.Value))
			if len(seen) >= len(wanted) {
				wait = time.Second // for a record too many
			}
			continue
		case <-time.After(wait):
		}
		break
	}
	program.Expect(slices.Equal(seen, wanted), "read_committed: %v", seen)
}
