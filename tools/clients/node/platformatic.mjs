// The scenarios with @platformatic/kafka.

import zlib from 'node:zlib'
import { Admin, Consumer, FetchIsolationLevels, Producer, stringDeserializers, stringSerializers } from '@platformatic/kafka'
import { awaitUntil, expect, expectOnce, expectSame, numbers, refusal, run, sleep } from './program.mjs'

const CODECS = ['none', 'gzip', 'snappy', 'lz4', ...('zstdCompressSync' in zlib ? ['zstd'] : [])] // by Node's version
const EAGER = { groupProtocol: 'classic' }
const PATIENT = { retries: 40, retryDelay: 250 } // while a broker is down

const cluster = (args) => ({ clientId: 'platformatic', bootstrapBrokers: args.servers, autocreateTopics: false })
const administrator = (args) => new Admin(cluster(args))
const writer = (args, settings = {}) => new Producer({ ...cluster(args), serializers: stringSerializers, ...settings })
// A fetch in flight at a rebalance returns records of partitions that the member has lost, so fetches are short.
const reader = (args, groupId, settings = {}) =>
  new Consumer({ ...cluster(args), groupId, deserializers: stringDeserializers, autocommit: false, maxWaitTime: 100, ...settings })
const message = (topic, value, partition = undefined) => ({ topic, value, partition })

async function metadata(args) {
  const admin = administrator(args)
  const found = await admin.metadata({ topics: [args.topic] })
  expect(found.brokers.size === 3, `${found.brokers.size} brokers`)
  const { partitions } = found.topics.get(args.topic)
  expect(partitions.length === 3 && partitions.every((one) => one.leader > 0 && one.replicas.length === 3), 'partitions')
}

async function administration(args) {
  const admin = administrator(args)
  const [created] = await admin.createTopics({ topics: [args.topic], partitions: 4, replicas: 3 })
  expect(created.partitions === 4, 'partitions')
  expect((await admin.listTopics()).includes(args.topic), 'not listed')
  await admin.deleteTopics({ topics: [args.topic] })
  await awaitUntil('listed', async () => !(await admin.listTopics()).includes(args.topic))
}

async function records(args) {
  const wanted = []
  for (const codec of CODECS) {
    const values = numbers(args.records).map((number) => `${codec}-${number}`)
    wanted.push(...values)
    const producer = writer(args, { idempotent: true, compression: codec })
    for (let at = 0; at < values.length; at += 1000) {
      await producer.send({ messages: values.slice(at, at + 1000).map((value) => message(args.topic, value)) })
    }
    await producer.close()
  }
  const one = await member(args)
  await awaitUntil('records are missing', () => one.seen.length >= wanted.length)
  expectOnce(one.seen, wanted)
  await one.commit()
  await one.leave()
  expect(await committed(args) === wanted.length, `${await committed(args)} committed`)
  return CODECS.join(', ')
}

async function rebalance(args, settings) {
  const first = await member(args, settings)
  await awaitUntil('one member has not all partitions', () => first.size() === 4)
  const second = await member(args, settings)
  await awaitUntil('two members do not share', () => first.size() === 2 && second.size() === 2)
  await sleep(500) // until no fetch is in flight
  const wanted = numbers(40)
  const producer = writer(args)
  await producer.send({ messages: wanted.map((value) => message(args.topic, value, value % 4)) })
  await awaitUntil('records are missing', () => first.seen.length + second.seen.length >= wanted.length)
  expectOnce([...first.seen, ...second.seen], wanted)
  await first.commit()
  await second.commit()
  await second.leave()
  await awaitUntil('the other has not all partitions', () => first.size() === 4)
  await first.leave()
  return 'with fetches of 100 ms: one in flight at a rebalance returns records of lost partitions'
}

async function transaction(args) {
  const wanted = numbers(12)
  await writeEach(args, wanted)
  const target = `${args.topic}-out`
  const producer = writer(args, { idempotent: true, transactionalId: args.topic })
  const one = await member(args)
  await awaitUntil('records are missing', () => one.messages.length >= wanted.length)
  for (let at = 0; at < wanted.length; at += 4) {
    const some = one.messages.slice(at, at + 4)
    for (const isLast of at === 0 ? [false, true] : [true]) {
      const ours = await producer.beginTransaction()
      await ours.addConsumer(one.consumer)
      await ours.send({ messages: some.map(({ value }) => message(target, value, 0)) })
      await ours.addOffset(some.at(-1))
      await (isLast ? ours.commit() : ours.abort())
      if (!isLast) expect(await committed(args) === 0, 'the offsets of an aborted transaction are committed')
    }
  }
  await one.leave()
  expect(await committed(args) === wanted.length, `${await committed(args)} committed`)
  expectSame(await allValues(args, target), wanted)
}

async function abortAfterCommit(args) {
  const producer = writer(args, { idempotent: true, transactionalId: args.topic })
  for (const number of numbers(20)) {
    const kept = await producer.beginTransaction()
    await kept.send({ messages: [message(args.topic, `kept-${number}`, 0)] })
    await kept.commit()
    const gone = await producer.beginTransaction()
    await gone.send({ messages: [message(args.topic, `gone-${number}`, 0)] })
    await gone.abort()
  }
  expectSame(await allValues(args, args.topic), numbers(20).map((number) => `kept-${number}`))
}

async function unknownTopic(args) {
  const producer = writer(args, { retries: 1, retryDelay: 100 })
  const error = await refusal(() => producer.send({ messages: [message(args.topic, 'lost')] }))
  expect(String(error).includes('Unknown topic'), `${idsOf(error)} ${error}`)
}

async function tooLarge(args) {
  const writes = [['', 900_000, true], ['', 1_100_000, false], ['-small', 1_000, true], ['-small', 3_000, false], ['-large', 1_100_000, true]]
  const producer = writer(args, { retries: 1, retryDelay: 100 })
  for (const [suffix, size, isAccepted] of writes) {
    const topic = args.topic + suffix
    const error = await refusal(() => producer.send({ messages: [message(topic, 'v'.repeat(size))] }))
    const isExpected = isAccepted ? error === null : idsOf(error).includes('MESSAGE_TOO_LARGE')
    expect(isExpected, `${size} bytes to ${topic}: ${idsOf(error)} ${error}`)
  }
}

async function crashOfLeader(args) {
  const wanted = numbers(60)
  await writeEach(args, wanted)
  expectSame(await allValues(args, args.topic), wanted)
}

async function crashOfGroupCoordinator(args) {
  const wanted = numbers(60)
  await writeEach(args, wanted)
  const one = await member(args, { ...EAGER, ...PATIENT })
  for (let at = 0; at < wanted.length; at += 5) {
    await awaitUntil('records are missing', () => one.messages.length >= at + 5)
    await awaitUntil('the offsets are not committed', async () => (await refusal(() => one.messages[at + 4].commit())) === null)
  }
  await awaitUntil('the end is not committed', async () => (await committed(args)) === wanted.length)
  await one.leave()
}

async function crashOfTransactionCoordinator(args) {
  const wanted = numbers(20)
  const producer = writer(args, { idempotent: true, transactionalId: args.topic, ...PATIENT })
  for (const value of wanted) {
    const ours = await producer.beginTransaction()
    await ours.send({ messages: [message(args.topic, value, 0)] })
    await ours.commit()
  }
  expectSame(await allValues(args, args.topic), wanted)
}

// ---------------------------------------------------------------- what the scenarios use

// Returns the names of the broker's errors within an error and its causes.
function idsOf(error) {
  if (!error) return []
  return [error.apiId, ...(error.errors ?? []).flatMap(idsOf), ...idsOf(error.cause)].filter(Boolean)
}

async function member(args, settings = EAGER) {
  const consumer = reader(args, args.topic, settings)
  const stream = await consumer.consume({ topics: [args.topic], mode: 'committed', fallbackMode: 'earliest' })
  const one = {
    consumer,
    messages: [],
    seen: [],
    size: () => (consumer.assignments ?? []).reduce((sum, { partitions }) => sum + partitions.length, 0),
    leave: async () => { await stream.close(); await consumer.close() },
    async commit() {
      const last = new Map(one.messages.map((message) => [message.partition, message]))
      for (const message of last.values()) await message.commit()
    },
  }
  stream.on('error', (error) => console.error(error))
  stream.on('data', (message) => { one.messages.push(message); one.seen.push(message.value) })
  return one
}

async function writeEach(args, values) {
  const producer = writer(args, { idempotent: true, ...PATIENT })
  for (const value of values) await producer.send({ messages: [message(args.topic, value, 0)] })
  await producer.close()
}

async function committed(args) {
  const admin = administrator(args)
  const [group] = await admin.listConsumerGroupOffsets({ groups: [args.topic] })
  await admin.close()
  return group.topics.flatMap((one) => one.partitions).reduce((sum, one) => sum + Math.max(Number(one.committedOffset), 0), 0)
}

// Returns the values of a topic's one partition, below its last stable offset.
async function allValues(args, topic) {
  const consumer = reader(args, `${topic}-reader`, { isolationLevel: FetchIsolationLevels.READ_COMMITTED })
  const [end] = (await consumer.listOffsets({ topics: [topic] })).get(topic)
  const stream = await consumer.consume({ topics: [topic], mode: 'earliest' })
  const seen = []
  let last = -1n
  stream.on('data', (message) => { seen.push(message.value); last = message.offset })
  const deadline = Date.now() + 20_000
  while (Date.now() < deadline && last < end - 2n) await sleep(50) // a marker may follow
  await sleep(500)
  await stream.close()
  await consumer.close()
  return seen
}

await run({
  'metadata': metadata,
  'administration': administration,
  'records': records,
  'rebalance-classic': (args) => rebalance(args, EAGER),
  'rebalance-consumer': (args) => rebalance(args, { groupProtocol: 'consumer' }),
  'transaction': transaction,
  'abort-after-commit': abortAfterCommit,
  'unknown-topic': unknownTopic,
  'too-large': tooLarge,
  'crash-of-leader': crashOfLeader,
  'crash-of-group-coordinator': crashOfGroupCoordinator,
  'crash-of-transaction-coordinator': crashOfTransactionCoordinator,
})
