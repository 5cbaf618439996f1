import type { Socket } from 'node:net'
import { AGENT_API } from '@groundstate/contract/agent'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { passedBy } from '../../../testing/database-proxy.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'
import { createRun, createRunSetting } from '../../../testing/runs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)
const silent: Socket[] = []
const replica = await createReplica(app, { reach })

/** Silently drops the connection of the first claim, without an error on either side. */
async function reach(databaseUrl: string) {
  return passedBy(databaseUrl, (client, target) => {
    client.on('data', (data: Buffer) => {
      if (silent.length === 0 && data.includes('as has_agent from')) silent.push(client)
      if (!silent.includes(client)) target.write(data)
    })
    target.pipe(client)
  })
}

test('a claim whose database connection is silent keeps no job from waiting agents', async () => {
  const setting = await createRunSetting(app)
  const response = replica.fastify.inject({
    method: 'POST',
    url: `${AGENT_API}/agents/${agent.id}/claim`,
    headers: { authorization: `Bearer ${agent.token}` },
    payload: { waitMs: 25_000 },
  })

  const run = await createRun(app, setting, { 'plan-only': true })
  const { statusCode, body } = await response

  expect(silent).toHaveLength(1)
  expect(statusCode).toBe(200)
  expect(JSON.parse(body)).toMatchObject({ runId: run })
  silent[0]?.destroy()
}, 60_000)
