// The scenarios with kafkajs.

import kafkajs from 'kafkajs'
import snappy from 'kafkajs-snappy'
import { awaitUntil, expect, expectOnce, expectSame, numbers, refusal, run } from './program.mjs'

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
CompressionCodecs[CompressionTypes.Snappy] = snappy
const CODECS = { none: CompressionTypes.None, gzip: CompressionTypes.GZIP, snappy: CompressionTypes.Snappy }

const cluster = (args) => new Kafka({ brokers: args.servers, logLevel: logLevel.NOTHING })

async function connected(client, use) {
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.disconnect()
  }
}

const admin = (args, use) => connected(cluster(args).admin(), use)
const idempotent = { idempotent: true, maxInFlightRequests: 1 }

async function metadata(args) {
  await admin(args, async (client) => {
    expect((await client.describeCluster()).brokers.length === 3, 'brokers')
    const [topic] = (await client.fetchTopicMetadata({ topics: [args.topic] })).topics
    expect(topic.partitions.length === 3, 'partitions')
    expect(topic.partitions.every((one) => one.leader > 0 && one.replicas.length === 3), 'leaders')
  })
}

async function administration(args) {
  await admin(args, async (client) => {
    expect(await client.createTopics({
      topics: [{ topic: args.topic, numPartitions: 4, replicationFactor: 3 }], waitForLeaders: true }), 'not created')
    expect((await client.listTopics()).includes(args.topic), 'not listed')
    await client.deleteTopics({ topics: [args.topic] })
    await awaitUntil('listed', async () => !(await client.listTopics()).includes(args.topic))
  })
}

async function records(args) {
  const wanted = []
  for (const [name, compression] of Object.entries(CODECS)) {
    const values = numbers(args.records).map((number) => `${name}-${number}`)
    wanted.push(...values)
    await connected(cluster(args).producer(idempotent), async (producer) => {
      for (let at = 0; at < values.length; at += 1000) {
        await producer.send({ topic: args.topic, compression, messages: messages(values.slice(at, at + 1000)) })
      }
    })
  }
  const seen = []
  const consumer = await member(args, seen)
  await awaitUntil('records are missing', () => seen.length >= wanted.length)
  await consumer.stop() // commits what it has read
  await consumer.disconnect()
  expectOnce(seen, wanted)
  expect(await committed(args) === wanted.length, `${await committed(args)} committed`)
  return Object.keys(CODECS).join(', ')
}

async function rebalance(args) {
  const seen = []
  const sizes = {}
  const first = await member(args, seen, sizes, 'first')
  await awaitUntil('one member has not all partitions', () => sizes.first === 4)
  const second = await member(args, seen, sizes, 'second')
  await awaitUntil('two members do not share', () => sizes.first === 2 && sizes.second === 2)
  const wanted = numbers(40)
  await connected(cluster(args).producer(), (producer) => producer.send({
    topic: args.topic, messages: wanted.map((value) => ({ value, partition: value % 4 })) }))
  await awaitUntil('records are missing', () => seen.length >= wanted.length)
  expectOnce(seen, wanted)
  await second.disconnect()
  await awaitUntil('the other has not all partitions', () => sizes.first === 4)
  await first.disconnect()
}

async function transaction(args) {
  const wanted = numbers(12)
  await writeEach(args, wanted)
  const target = `${args.topic}-out`
  const consumer = cluster(args).consumer({ groupId: args.topic, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topic: args.topic, fromBeginning: true })
  let done = 0
  let isAborted = false
  await connected(await transactional(args), async (producer) => {
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      eachBatch: async ({ batch, resolveOffset }) => {
        for (let at = 0; at < batch.messages.length; at += 4) {
          const some = batch.messages.slice(at, at + 4)
          for (const isLast of isAborted ? [true] : [false, true]) {
            const ours = await producer.transaction()
            await ours.send({ topic: target, messages: messages(some.map((one) => one.value)) })
            const offset = String(Number(some.at(-1).offset) + 1)
            await ours.sendOffsets({ consumerGroupId: args.topic, topics: [{ topic: args.topic, partitions: [{ partition: 0, offset }] }] })
            await (isLast ? ours.commit() : ours.abort())
            isAborted = true
            if (!isLast) expect(await committed(args) === 0, 'the offsets of an aborted transaction are committed')
          }
          resolveOffset(some.at(-1).offset)
          done += some.length
        }
      },
    })
    await awaitUntil('records are missing', () => done === wanted.length)
    await consumer.disconnect()
  })
  expect(await committed(args) === wanted.length, `${await committed(args)} committed`)
  expectSame(await allValues(args, target), wanted)
}

async function abortAfterCommit(args) {
  await connected(await transactional(args), async (producer) => {
    for (const number of numbers(20)) {
      const kept = await producer.transaction()
      await kept.send({ topic: args.topic, messages: messages([`kept-${number}`]) })
      await kept.commit()
      const gone = await producer.transaction()
      await gone.send({ topic: args.topic, messages: messages([`gone-${number}`]) })
      await gone.abort()
    }
  })
  expectSame(await allValues(args, args.topic), numbers(20).map((number) => `kept-${number}`))
}

async function unknownTopic(args) {
  const settings = { allowAutoTopicCreation: false, retry: { retries: 1 } }
  await connected(cluster(args).producer(settings), async (producer) => {
    const error = await refusal(() => producer.send({ topic: args.topic, messages: messages(['lost']) }))
    expect(error && (error.cause ?? error).type === 'UNKNOWN_TOPIC_OR_PARTITION', String(error))
  })
}

async function tooLarge(args) {
  const writes = [['', 900_000, true], ['', 1_100_000, false], ['-small', 1_000, true], ['-small', 3_000, false], ['-large', 1_100_000, true]]
  await connected(cluster(args).producer({ retry: { retries: 1 } }), async (producer) => {
    for (const [suffix, size, isAccepted] of writes) {
      const topic = args.topic + suffix
      const error = await refusal(() => producer.send({ topic, messages: messages(['v'.repeat(size)]) }))
      const type = (error?.cause ?? error)?.type
      expect(isAccepted ? error === null : type === 'MESSAGE_TOO_LARGE', `${size} bytes to ${topic}: ${error}`)
    }
  })
}

async function crashOfLeader(args) {
  const wanted = numbers(60)
  await writeEach(args, wanted, { ...idempotent, retry: { retries: 20, maxRetryTime: 1000 } })
  expectSame(await allValues(args, args.topic), wanted)
}

async function crashOfGroupCoordinator(args) {
  const wanted = numbers(60)
  await writeEach(args, wanted)
  const seen = new Set()
  const consumer = cluster(args).consumer({ groupId: args.topic })
  await consumer.connect()
  await consumer.subscribe({ topic: args.topic, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message, partition }) => {
      const offset = String(Number(message.offset) + 1)
      await consumer.commitOffsets([{ topic: args.topic, partition, offset }])
      seen.add(String(message.value))
    },
  })
  await awaitUntil('records were not read and committed', () => seen.size === wanted.length, 80_000)
  await consumer.disconnect()
  expect(await committed(args) === wanted.length, `${await committed(args)} committed`)
}

async function crashOfTransactionCoordinator(args) {
  const wanted = numbers(20)
  await connected(await transactional(args, { retries: 20, maxRetryTime: 1000 }), async (producer) => {
    for (const value of wanted) {
      const ours = await producer.transaction()
      await ours.send({ topic: args.topic, messages: messages([value]) })
      await ours.commit()
    }
  })
  expectSame(await allValues(args, args.topic), wanted)
}

// ---------------------------------------------------------------- what the scenarios use

const messages = (values) => values.map((value) => ({ value, partition: undefined }))

const transactional = async (args, retry = undefined) =>
  cluster(args).producer({ ...idempotent, transactionalId: args.topic, retry })

// Returns a running member of the scenario's group, which keeps its number of partitions in `sizes`.
async function member(args, seen, sizes = {}, name = 'only') {
  const consumer = cluster(args).consumer({ groupId: args.topic })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    sizes[name] = (payload.memberAssignment[args.topic] ?? []).length
  })
  await consumer.connect()
  await consumer.subscribe({ topic: args.topic, fromBeginning: true })
  await consumer.run({ eachMessage: async ({ message }) => { seen.push(String(message.value)) } })
  return consumer
}

async function writeEach(args, values, settings = {}) {
  await connected(cluster(args).producer(settings), async (producer) => {
    for (const value of values) await producer.send({ topic: args.topic, messages: [{ value, partition: 0 }] })
  })
}

async function committed(args) {
  return admin(args, async (client) => {
    const found = await client.fetchOffsets({ groupId: args.topic, topics: [args.topic] })
    return found[0].partitions.reduce((sum, one) => sum + Math.max(Number(one.offset), 0), 0)
  })
}

// Returns the values of a topic's one partition, below its last stable offset.
async function allValues(args, topic) {
  const [{ high }] = await admin(args, (client) => client.fetchTopicOffsets(topic))
  const seen = []
  let next = 0
  const consumer = cluster(args).consumer({ groupId: `${topic}-reader`, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topic, fromBeginning: true })
  await consumer.run({ eachBatch: async ({ batch }) => {
    seen.push(...batch.messages.map((one) => String(one.value)))
    next = Number(batch.lastOffset()) + 1
  } })
  await awaitUntil('the end is not reached', () => next >= Number(high) - 1, 30_000) // a marker may follow
  await consumer.disconnect()
  return seen
}

await run({
  'metadata': metadata,
  'administration': administration,
  'records': records,
  'rebalance-classic': rebalance,
  'transaction': transaction,
  'abort-after-commit': abortAfterCommit,
  'unknown-topic': unknownTopic,
  'too-large': tooLarge,
  'crash-of-leader': crashOfLeader,
  'crash-of-group-coordinator': crashOfGroupCoordinator,
  'crash-of-transaction-coordinator': crashOfTransactionCoordinator,
})
