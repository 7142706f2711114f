package kfake

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicInfo describes a topic.
type TopicInfo struct {
	Topic       string
	TopicID     [16]byte
	NumReplicas int
}

// PartitionInfo describes a partition.
type PartitionInfo struct {
	Partition        int32
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	Epoch            int32
	Leader           int32
}

// CreateTopic creates a topic with CreateTopics.
func (c *Cluster) CreateTopic(topic string, partitions int32, configs map[string]string) error {
	ctx, cancel := within()
	defer cancel()
	values := make(map[string]*string)
	for name, value := range configs {
		values[name] = &value
	}
	created, err := c.admin.CreateTopic(ctx, partitions, -1, values, topic)
	return errors.Join(err, created.Err)
}

// DeleteTopic deletes a topic with DeleteTopics.
func (c *Cluster) DeleteTopic(topic string) error {
	ctx, cancel := within()
	defer cancel()
	deleted, err := c.admin.DeleteTopic(ctx, topic)
	return errors.Join(err, deleted.Err)
}

// DeleteRecords truncates a partition with DeleteRecords.
func (c *Cluster) DeleteRecords(topic string, partition int32, offset int64) error {
	ctx, cancel := within()
	defer cancel()
	var offsets kadm.Offsets
	offsets.AddOffset(topic, partition, offset, -1)
	deleted, err := c.admin.DeleteRecords(ctx, offsets)
	return errors.Join(err, deleted.Error())
}

// TopicInfo describes a topic from Metadata; nil if it does not exist.
func (c *Cluster) TopicInfo(topic string) *TopicInfo {
	found := c.topic(topic)
	if found == nil {
		return nil
	}
	info := &TopicInfo{Topic: topic, TopicID: found.TopicID}
	for _, partition := range found.Partitions {
		info.NumReplicas = len(partition.Replicas)
	}
	return info
}

// PartitionInfo describes a partition from Metadata and ListOffsets; nil if it does not exist.
func (c *Cluster) PartitionInfo(topic string, partition int32) *PartitionInfo {
	found := c.partition(topic, partition)
	if found == nil {
		return nil
	}
	ctx, cancel := within()
	defer cancel()
	starts, err1 := c.admin.ListStartOffsets(ctx, topic)
	stable, err2 := c.admin.ListCommittedOffsets(ctx, topic)
	ends, err3 := c.admin.ListEndOffsets(ctx, topic)
	if err := errors.Join(err1, err2, err3); err != nil {
		panic(err)
	}
	return &PartitionInfo{
		Partition:        partition,
		HighWatermark:    ends[topic][partition].Offset,
		LastStableOffset: stable[topic][partition].Offset,
		LogStartOffset:   starts[topic][partition].Offset,
		Epoch:            found.LeaderEpoch,
		Leader:           found.Leader,
	}
}

// LeaderFor returns a partition's leader from Metadata; -1 if it does not exist.
func (c *Cluster) LeaderFor(topic string, partition int32) int32 {
	found := c.partition(topic, partition)
	if found == nil {
		return -1
	}
	return found.Leader
}

func (c *Cluster) partition(topic string, partition int32) *kmsg.MetadataResponseTopicPartition {
	if found := c.topic(topic); found != nil {
		for i := range found.Partitions {
			if found.Partitions[i].Partition == partition {
				return &found.Partitions[i]
			}
		}
	}
	return nil
}

func (c *Cluster) topic(topic string) *kmsg.MetadataResponseTopic {
	ctx, cancel := within()
	defer cancel()
	// A request of its own: the administration client answers from a cache.
	req := kmsg.NewPtrMetadataRequest()
	named := kmsg.NewMetadataRequestTopic()
	named.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, named)
	resp, err := req.RequestWith(ctx, c.client)
	if err != nil {
		panic(err)
	}
	if kerr.ErrorForCode(resp.Topics[0].ErrorCode) != nil {
		return nil
	}
	return &resp.Topics[0]
}
