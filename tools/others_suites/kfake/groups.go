package kfake

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// GroupInfo describes a group.
type GroupInfo struct {
	Group   string
	State   string
	Epoch   int32
	Members []GroupMember
	Commits map[string]map[int32]GroupCommit
}

// GroupCommit is a committed offset.
type GroupCommit struct {
	Offset      int64
	LeaderEpoch int32
	Metadata    string
}

// GroupMember is a member of a group.
type GroupMember struct {
	MemberID         string
	InstanceID       *string
	ClientID         string
	ClientHost       string
	SubscribedTopics []string
	Assignment       map[string][]int32
}

// NumAssigned returns the number of partitions assigned to the member.
func (m *GroupMember) NumAssigned() int {
	var n int
	for _, partitions := range m.Assignment {
		n += len(partitions)
	}
	return n
}

// NumAssigned returns the number of partitions assigned to all members.
func (g *GroupInfo) NumAssigned() int {
	var n int
	for i := range g.Members {
		n += g.Members[i].NumAssigned()
	}
	return n
}

// GroupInfo describes a group from ConsumerGroupDescribe or DescribeGroups, and OffsetFetch; nil if
// it does not exist.
func (c *Cluster) GroupInfo(group string) *GroupInfo {
	ctx, cancel := within()
	defer cancel()
	info := c.consumerGroup(ctx, group)
	if info == nil {
		info = c.classicGroup(ctx, group)
	}
	if info == nil {
		return nil
	}
	slices.SortFunc(info.Members, func(l, r GroupMember) int {
		return cmp.Compare(l.MemberID, r.MemberID)
	})
	commits, err := c.admin.FetchOffsets(ctx, group)
	if err != nil {
		panic(err)
	}
	info.Commits = make(map[string]map[int32]GroupCommit)
	commits.Each(func(o kadm.OffsetResponse) {
		if info.Commits[o.Topic] == nil {
			info.Commits[o.Topic] = make(map[int32]GroupCommit)
		}
		info.Commits[o.Topic][o.Partition] = GroupCommit{
			Offset: o.At, LeaderEpoch: o.LeaderEpoch, Metadata: o.Metadata,
		}
	})
	return info
}

func (c *Cluster) consumerGroup(ctx context.Context, group string) *GroupInfo {
	described, err := c.admin.DescribeConsumerGroups(ctx, group)
	found, ok := described[group]
	if err != nil || !ok || found.Err != nil {
		return nil // a classic group, or none
	}
	info := &GroupInfo{Group: group, State: found.State, Epoch: found.Epoch}
	for _, m := range found.Members {
		member := GroupMember{
			MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID,
			ClientHost: m.ClientHost, SubscribedTopics: m.SubscribedTopics,
			Assignment: make(map[string][]int32),
		}
		for topic, partitions := range m.Assignment {
			for partition := range partitions {
				member.Assignment[topic] = append(member.Assignment[topic], partition)
			}
			slices.Sort(member.Assignment[topic])
		}
		info.Members = append(info.Members, member)
	}
	return info
}

func (c *Cluster) classicGroup(ctx context.Context, group string) *GroupInfo {
	described, err := c.admin.DescribeGroups(ctx, group)
	found, ok := described[group]
	if errors.Is(found.Err, kerr.GroupIDNotFound) || !ok || found.State == "Dead" {
		return nil
	}
	if err := errors.Join(err, found.Err); err != nil {
		panic(err)
	}
	info := &GroupInfo{Group: group, State: found.State}
	for _, m := range found.Members {
		member := GroupMember{
			MemberID: m.MemberID, InstanceID: m.InstanceID, ClientID: m.ClientID,
			ClientHost: m.ClientHost, Assignment: make(map[string][]int32),
		}
		if assigned, ok := m.Assigned.AsConsumer(); ok {
			for _, t := range assigned.Topics {
				member.Assignment[t.Topic] = t.Partitions
			}
		}
		if joined, ok := m.Join.AsConsumer(); ok {
			member.SubscribedTopics = joined.Topics
		}
		info.Members = append(info.Members, member)
	}
	return info
}

// WaitGroupStable waits until a group is stable with so many members; -1 is any number.
func (c *Cluster) WaitGroupStable(
	ctx context.Context, group string, members int,
) (*GroupInfo, error) {
	return c.WaitGroupInfo(ctx, group, func(g *GroupInfo) bool {
		return g != nil && g.State == "Stable" && (members < 0 || len(g.Members) == members)
	})
}

// WaitGroupInfo waits until a predicate holds of a group, which is nil while it does not exist.
func (c *Cluster) WaitGroupInfo(
	ctx context.Context, group string, fn func(*GroupInfo) bool,
) (*GroupInfo, error) {
	for {
		g := c.GroupInfo(group)
		if fn(g) {
			return g, nil
		}
		select {
		case <-ctx.Done():
			return g, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// CoordinatorFor returns the coordinator of a group from FindCoordinator.
func (c *Cluster) CoordinatorFor(key string) int32 {
	ctx, cancel := within()
	defer cancel()
	found, ok := c.admin.FindGroupCoordinators(ctx, key)[key]
	if !ok || found.Err != nil {
		return -1
	}
	return found.NodeID
}
