#!/usr/bin/env node
// A run task receiver in plain Node, without dependencies: copy it and put your own rule into `judge`.
//
//   HMAC_KEY=secret PORT=8080 node receiver.mjs
//
// It responds to every request immediately and calls back later. This rule rejects plans that destroy more than
// MAX_DESTROYED resources (default 0).
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const MAX_BODY_BYTES = 1024 * 1024
const PORT = Number(process.env.PORT ?? 8080)
const HMAC_KEY = process.env.HMAC_KEY
const MAX_DESTROYED = Number(process.env.MAX_DESTROYED ?? 0)

/** The policy: the result for a plan (`terraform show -json`). */
function judge(plan) {
  const changes = (plan.resource_changes ?? []).filter(({ change }) => !change.actions.includes('no-op'))
  const destroyed = changes.filter(({ change }) => change.actions.includes('delete'))
  const passed = destroyed.length <= MAX_DESTROYED
  return {
    status: passed ? 'passed' : 'failed',
    message: `${destroyed.length} of ${changes.length} changes destroy something, ${MAX_DESTROYED} may`,
    outcomes: destroyed.map(({ address, type, change }) => ({
      'outcome-id': address,
      description: `${address} is ${change.actions.length > 1 ? 'replaced' : 'destroyed'}`,
      // Markdown.
      body: `# ${address}\n\nPlanned actions: \`${change.actions.join('`, `')}\``,
      // The groups status and severity are highlighted; levels are none, info, warning and error.
      tags: {
        status: [{ label: passed ? 'Accepted' : 'Refused', level: passed ? 'info' : 'error' }],
        type: [{ label: type }],
      },
    })),
  }
}

async function handle(request, response) {
  const answer = (status, text) => response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`)
  if (request.method !== 'POST') return answer(405, 'run tasks are sent with POST')
  const body = await readBody(request)
  if (!body) return answer(413, 'the body is too large')
  const signature = request.headers['x-svc-task-signature'] ?? request.headers['x-tfc-task-signature']
  if (!isSigned(body, signature)) return answer(401, 'the signature is wrong')
  const task = JSON.parse(body)
  if (task.payload_version !== 1) return answer(422, `payload version ${task.payload_version} is unknown`)

  // Requests are retried until the response is 200, so respond before doing the work.
  answer(200, 'accepted')
  // A verification request, sent when the task is created or changed: it has no run.
  if (task.access_token === 'test-token') return console.log('verified')
  await callBack(task, { status: 'running', message: 'reading the plan' })
  const result = await decide(task).catch((error) => ({ status: 'failed', message: error.message }))
  await callBack(task, result)
  console.log(`${task.run_id} ${task.stage}: ${result.status}, ${result.message}`)
}

/** The signature is the lower-case hex HMAC-SHA512 of the body's bytes; without a key it is empty. */
function isSigned(body, signature = '') {
  if (!HMAC_KEY) return true
  const expected = Buffer.from(createHmac('sha512', HMAC_KEY).update(body).digest('hex'))
  const given = Buffer.from(signature)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

async function decide(task) {
  if (!task.plan_json_api_url) return { status: 'passed', message: 'there is no plan yet' }
  const response = await fetch(task.plan_json_api_url, { headers: { authorization: `Bearer ${task.access_token}` } })
  if (!response.ok) throw new Error(`the plan was answered with ${response.status}`)
  return judge(await response.json())
}

async function callBack(task, { status, message, outcomes = [] }) {
  const data = outcomes.map((attributes) => ({ type: 'task-result-outcomes', attributes }))
  const relationships = task.capabilities?.outcomes ? { outcomes: { data } } : {}
  const response = await fetch(task.task_result_callback_url, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${task.access_token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({ data: { type: 'task-results', attributes: { status, message }, relationships } }),
  })
  if (!response.ok) throw new Error(`the callback was answered with ${response.status}: ${await response.text()}`)
}

/** The raw body, which is what the signature covers; undefined if it is too large. */
async function readBody(request) {
  const chunks = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const server = createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(`failed: ${error.message}`)
    if (!response.headersSent) response.writeHead(400, { 'content-type': 'text/plain' }).end(`${error.message}\n`)
  })
})
server.listen(PORT, () => console.log(`listening on port ${server.address().port}`))
