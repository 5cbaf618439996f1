#!/usr/bin/env node
// A receiver of run tasks in plain Node, without dependencies: copy it and put your own rule into `judge`.
//
//   HMAC_KEY=secret PORT=8080 node receiver.mjs
//
// It answers every request at once and calls back when it is done; this one refuses plans that destroy more than
// MAX_DESTROYED resources (0 when it is not set).
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const MAX_BODY_BYTES = 1024 * 1024

/** The rule: what a plan (`terraform show -json`) is to be told. */
function judge(plan, { maxDestroyed }) {
  const changes = plan.resource_changes ?? []
  const destroyed = changes.filter(({ change }) => change.actions.includes('delete'))
  const passed = destroyed.length <= maxDestroyed
  return {
    status: passed ? 'passed' : 'failed',
    message: `${destroyed.length} of ${changes.length} resources are destroyed, ${maxDestroyed} may be`,
    outcomes: destroyed.map(({ address, change }) => ({
      'outcome-id': address,
      description: `${address} is ${change.actions.length > 1 ? 'replaced' : 'destroyed'}`,
      body: `Planned actions of \`${address}\`: ${change.actions.join(', ')}`,
      tags: { status: [{ label: passed ? 'Accepted' : 'Refused', level: passed ? 'info' : 'error' }] },
    })),
  }
}

/** The signature is the lower-case hex HMAC-SHA512 of the body's bytes; without a key it is empty. */
export function isSigned(body, signature, key) {
  if (key === undefined) return true
  const expected = Buffer.from(createHmac('sha512', key).update(body).digest('hex'))
  const given = Buffer.from(signature ?? '')
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** Makes the server; it does not listen yet. */
export function createReceiver({ hmacKey, maxDestroyed = 0, log = console.log } = {}) {
  return createServer(async (request, response) => {
    const answer = (status, text) => response.writeHead(status, { 'content-type': 'text/plain' }).end(`${text}\n`)
    if (request.method !== 'POST') return answer(405, 'run tasks are sent with POST')
    try {
      const body = await readBody(request)
      const signature = request.headers['x-svc-task-signature'] ?? request.headers['x-tfc-task-signature']
      if (!isSigned(body, signature, hmacKey)) return answer(401, 'the signature is wrong')
      const task = JSON.parse(body.toString())
      if (task.payload_version !== 1) return answer(422, `payload version ${task.payload_version} is unknown`)

      // Anything but 200 is sent again, so the work comes after the answer.
      answer(200, 'accepted')
      if (task.access_token === 'test-token') return log('verified')
      await work(task, { maxDestroyed, log })
    } catch (error) {
      log(`failed: ${error.message}`)
      if (!response.headersSent) answer(400, error.message)
    }
  })
}

async function work(task, { maxDestroyed, log }) {
  await callBack(task, { status: 'running', message: 'reading the plan' })
  const verdict = await decide(task, { maxDestroyed }).catch((error) => ({ status: 'failed', message: error.message }))
  await callBack(task, verdict)
  log(`${task.run_id} ${task.stage}: ${verdict.status}, ${verdict.message}`)
}

async function decide(task, options) {
  // There is no plan yet before the plan.
  if (!task.plan_json_api_url) return { status: 'passed', message: 'nothing to say before the plan' }
  const response = await fetch(task.plan_json_api_url, { headers: { authorization: `Bearer ${task.access_token}` } })
  if (!response.ok) throw new Error(`the plan was answered with ${response.status}`)
  return judge(await response.json(), options)
}

async function callBack(task, { status, message, outcomes = [] }) {
  const detailed = task.capabilities.outcomes && outcomes.length > 0
  const data = outcomes.map((attributes) => ({ type: 'task-result-outcomes', attributes }))
  const response = await fetch(task.task_result_callback_url, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${task.access_token}`, 'content-type': 'application/vnd.api+json' },
    body: JSON.stringify({
      data: {
        type: 'task-results',
        attributes: { status, message },
        ...(detailed && { relationships: { outcomes: { data } } }),
      },
    }),
  })
  if (!response.ok) throw new Error(`the callback was answered with ${response.status}: ${await response.text()}`)
}

async function readBody(request) {
  const pieces = []
  let size = 0
  for await (const piece of request) {
    size += piece.length
    if (size > MAX_BODY_BYTES) throw new Error('the body is too large')
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const port = Number(process.env.PORT ?? 8080)
  const maxDestroyed = Number(process.env.MAX_DESTROYED ?? 0)
  createReceiver({ hmacKey: process.env.HMAC_KEY, maxDestroyed }).listen(port, () => {
    console.log(`listening on port ${port}`)
  })
}
