// Runs one scenario of a Node client, and prints its result as one line of JSON.

export class NotOffered extends Error {}

export function expect(condition, why) {
  if (!condition) throw new Error(why)
}

export const numbers = (count) => Array.from({ length: count }, (_, number) => String(number))

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

// Throws unless each wanted value was found exactly once.
export function expectOnce(found, wanted) {
  const seen = new Set(found)
  const missing = wanted.filter((value) => !seen.has(value))
  expect(missing.length === 0 && found.length === wanted.length,
    `${missing.length} of ${wanted.length} values missing, ${found.length} found`)
}

export function expectSame(found, wanted) {
  expect(JSON.stringify(found) === JSON.stringify(wanted), `read: ${found}`)
}

export async function awaitUntil(why, condition, withinMs = 50_000) {
  const deadline = Date.now() + withinMs
  while (!(await condition())) {
    expect(Date.now() < deadline, `after ${withinMs / 1000} s: ${why}`)
    await sleep(20)
  }
}

// Returns the error of a call, or null if it succeeded.
export async function refusal(call) {
  try {
    await call()
    return null
  } catch (error) {
    return error
  }
}

export async function run(scenarios) {
  const [name, servers, topic, records] = process.argv.slice(2)
  let result
  try {
    if (!(name in scenarios)) throw new NotOffered('the client has no API for it')
    const note = await scenarios[name]({ servers: servers.split(','), topic, records: Number(records) })
    result = { outcome: 'passed', note: note ?? '' }
  } catch (error) {
    if (!(error instanceof NotOffered)) console.error(error)
    result = { outcome: error instanceof NotOffered ? 'not offered' : 'failed', note: String(error.message) }
  }
  process.stdout.write(JSON.stringify(result) + '\n', () => process.exit(0))
}
