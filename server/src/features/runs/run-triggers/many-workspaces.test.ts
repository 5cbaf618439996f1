import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, type RunSetting } from '../../../testing/runs.ts'
import { fire, readChain } from './testing/triggers.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** Length of a chain of workspaces, each of which also triggers others, 1,000 in total. */
const LINKS = 20
const WORKSPACES = 1000
const FAN = (WORKSPACES - LINKS) / LINKS

/**
 * 1,000 copies of a workspace with its configuration; through the API this would take most of the test's
 * time. Those of the chain have the numbers from 1 to `LINKS`, and every workspace n triggers the next of the chain and
 * `FAN` others.
 */
async function createGraph(workspaceId: string, poolId: string) {
  const id = (number: unknown) => sql`'ws-many' || ${number}`
  const n = sql`n`
  // One statement, since workspaces and configurations refer to each other.
  await sql`with copies as (insert into workspaces select (jsonb_populate_record(w, jsonb_build_object('id', ${id(n)},
      'name', 'many-' || n, 'current_configuration_version_id', 'cv-many' || n,
      'auto_apply_run_trigger', n <= ${LINKS},
      'execution_mode', case when n > ${LINKS} then 'agent' end,
      'agent_pool_id', case when n > ${LINKS} then ${poolId}::text end))).*
    from workspaces w, generate_series(1, ${WORKSPACES}::int) n where w.id = ${workspaceId})
    insert into configuration_versions overriding system value
    select (jsonb_populate_record(v, jsonb_build_object('id', 'cv-many' || n, 'workspace_id', ${id(n)}, 'seq', n + 1000))).*
      from configuration_versions v, generate_series(1, ${WORKSPACES}::int) n where v.workspace_id = ${workspaceId}`.execute(
    app.db,
  )
  await sql`insert into run_triggers (id, workspace_id, source_id, created_at)
    select 'rt-many' || n, ${id(n)},
           ${id(sql`(case when n <= ${LINKS} then n - 1 else (n - ${LINKS} - 1) / ${FAN} + 1 end)`)}, now()
      from generate_series(2, ${WORKSPACES}::int) n`.execute(app.db)
}

/** Finishes the plans and applies of the chain. */
async function work() {
  for (let job = await agent.claim(); job; job = await agent.claim()) await job.finish()
}

/** A pool without agents: runs outside of the chain stay in its queue. */
async function createPool({ user, organization }: RunSetting) {
  const body = { data: { type: 'agent-pools', attributes: { name: 'idle' } } }
  const url = `/api/v2/organizations/${organization}/agent-pools`
  return (await app.request({ method: 'POST', url, token: user.token, body })).json().data.id
}

test('one apply at the root of 1,000 workspaces fires every trigger once', { timeout: 240_000 }, async () => {
  const setting = await createRunSetting(app)
  const { user, organization } = setting
  await createGraph(setting.workspaceId, await createPool(setting))

  const root = await createRun(app, { user, workspaceId: 'ws-many1' }, { 'auto-apply': true })
  await work()
  for (let link = 1; link <= LINKS; link += 1) {
    await fire(app)
    await work()
  }

  const { rows: firings } = await sql`select status, count(*)::int as count, count(distinct run_id)::int as runs,
      count(distinct workspace_id)::int as workspaces from trigger_firings group by status`.execute(app.db)
  expect(firings).toEqual([
    { status: 'fired', count: WORKSPACES - 1, runs: WORKSPACES - 1, workspaces: WORKSPACES - 1 },
  ])
  const { rows: runs } =
    await sql`select status, count(*)::int as count, count(distinct workspace_id)::int as workspaces,
      max(trigger_depth) as depth from runs group by status order by status`.execute(app.db)
  expect(runs).toEqual([
    { status: 'applied', count: LINKS, workspaces: LINKS, depth: LINKS - 1 },
    { status: 'plan_queued', count: WORKSPACES - LINKS, workspaces: WORKSPACES - LINKS, depth: LINKS },
  ])
  const chain = await readChain(app, user.token, root)
  expect(chain).toMatchObject({ truncated: false })
  expect(chain.runs).toHaveLength(WORKSPACES)
  const url = `/api/v2/organizations/${organization}/dependency-graph`
  const graph = (await app.request({ url, token: user.token })).json().data.attributes
  expect(graph.workspaces).toHaveLength(WORKSPACES)
  expect(graph.triggers).toHaveLength(WORKSPACES - 1)
})
