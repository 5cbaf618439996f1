import { RUN_STATUS, type RunStatus } from '@groundstate/contract/run-status'
import { sql } from 'kysely'
import { createTeamWithAccess } from '../../../../testing/access.ts'
import type { TestApp } from '../../../../testing/app.ts'
import { createUser, type TestUser } from '../../../../testing/factories.ts'
import type { Random } from '../../../../testing/random.ts'
import { addWorkspace, createRun, createRunSetting, type RunSetting } from '../../../../testing/runs.ts'
import { insertRunKeys } from './run-keys.ts'

/** The fields that filters of runs read, with names in place of ids. */
export type KnownRun = {
  id: string
  organization: string
  workspaceId: string
  workspaceName: string
  status: RunStatus
  source: string
  flags: Record<(typeof FLAGS)[number], boolean>
  message: string
  username: string | undefined
  poolName: string | undefined
  createdAt: Date
  updatedAt: Date
}

export const FLAGS = ['plan_only', 'save_plan', 'refresh_only', 'is_destroy', 'allow_empty_apply'] as const
export const SOURCES = ['tfe-api', 'tfe-configuration-version', 'tfe-ui', 'tfe-run-trigger'] as const
export const POOLS = ['Pool-A', 'pool-b'] as const
const STATUSES = ['applied', 'planned_and_finished', 'errored', 'discarded', 'planned', 'canceled'] as const
const WORDS = ['release', 'via', 'UI', 'Ärger', '100%', 'a_b', 'fix-it', 'needle', 'v1.2', 'straße', '日本語'] as const

const HOUR = 3_600_000
/** Two and a half years of runs. */
const RUNS = 420
const SPACING = 52 * HOUR

/**
 * Runs of two organizations with random attributes, oldest first: some values are common and some rare. The second organization
 * mirrors the first. Times of creation are out of order, as with clock skew.
 */
export async function createManyRuns(app: TestApp, random: Random) {
  const owner = await createUser(app, { isSiteAdmin: true })
  const settings = [await createRunSetting(app), await createRunSetting(app)] as const
  const places: RunSetting[] = [...settings]
  for (let index = 0; index < 6; index += 1) places.push(await addWorkspace(app, settings[index < 5 ? 0 : 1]))
  const users = [await createUser(app, { username: 'Ann' }), await createUser(app), await createUser(app)] as const
  const pools = await createPools(app, settings)
  const model = await createRun(app, await createRunSetting(app))

  const runs = Array.from({ length: RUNS }, (_, index) => {
    const place = random.oneIn(3) ? settings[0] : random.pick(places as [RunSetting, ...RunSetting[]])
    return { ...attributes(app, random, index), place, user: random.pickSkewed([...users, undefined]) }
  })
  const numbers = new Map<string, number>()
  const rows = runs.map(({ place, user, flags, ...run }, index) => {
    const number = (numbers.get(place.workspaceId) ?? 0) + 1
    numbers.set(place.workspaceId, number)
    return {
      ...flags,
      id: run.id,
      workspace_id: place.workspaceId,
      organization_id: pools.get(place.organization)?.organizationId,
      number,
      seq: 1_000_000 + index,
      queue_order: 1_000_000 + index,
      status: run.status,
      occupies: false,
      waits: false,
      source: run.source,
      message: run.message,
      agent_pool_id: (run.poolName && pools.get(place.organization)?.ids[run.poolName]) ?? 'apool-builtin',
      created_by_user_id: user?.id ?? null,
      created_at: run.createdAt,
      updated_at: run.updatedAt,
    }
  })
  await insertCopies(app, model, rows)
  const known = runs.map(({ place, user, ...run }): KnownRun => ({
    ...run,
    organization: place.organization,
    workspaceId: place.workspaceId,
    workspaceName: place.workspaceName,
    username: user?.username,
  }))
  return { settings, places, users, owner, runs: known, members: await createMembers(app, pools, places) }
}

function attributes(app: TestApp, random: Random, index: number) {
  const isDestroy = random.oneIn(12)
  const words = Array.from({ length: random.below(4) }, () => random.pickSkewed(WORDS))
  if (random.oneIn(40)) words.push(...Array.from({ length: 200 }, () => 'tedious' as never))
  const age = (RUNS - index) * SPACING + (random.below(9) - 4) * SPACING
  return {
    id: `run-known${index}`,
    status: random.oneIn(20) ? random.pick(RUN_STATUS as [RunStatus, ...RunStatus[]]) : random.pickSkewed(STATUSES),
    source: random.pickSkewed(SOURCES),
    flags: {
      plan_only: random.oneIn(6),
      save_plan: random.oneIn(30),
      refresh_only: !isDestroy && random.oneIn(9),
      is_destroy: isDestroy,
      allow_empty_apply: random.oneIn(25),
    },
    message: words.join(' '),
    poolName: random.oneIn(8) ? random.pickSkewed(POOLS) : undefined,
    createdAt: new Date(app.clock.now().getTime() - age),
    updatedAt: new Date(app.clock.now().getTime() - random.below(240) * HOUR),
  }
}

type Pools = Map<string, { organizationId: string; ids: Record<string, string> }>

/** A pool of each name in each organization. */
async function createPools(app: TestApp, settings: readonly RunSetting[]): Promise<Pools> {
  const pools: Pools = new Map()
  for (const { organization, user } of settings) {
    const ids: Record<string, string> = {}
    for (const name of POOLS) {
      const url = `/api/v2/organizations/${organization}/agent-pools`
      const body = { data: { type: 'agent-pools', attributes: { name } } }
      const response = await app.request({ method: 'POST', url, token: user.token, body })
      ids[name] = response.json().data.id
    }
    const url = `/api/v2/organizations/${organization}`
    const found = await app.db.selectFrom('organizations').select('id').where('name', '=', organization).execute()
    if (!found[0]) throw new Error(`${url} is missing`)
    pools.set(organization, { organizationId: found[0].id, ids })
  }
  return pools
}

/** Members of the first organization, with the workspaces that they see. */
async function createMembers(app: TestApp, pools: Pools, places: readonly RunSetting[]) {
  const [first] = places
  const organizationId = pools.get(first?.organization ?? '')?.organizationId ?? ''
  const inFirst = places.filter(({ organization }) => organization === first?.organization)
  const members: { user: TestUser; sees: ReadonlySet<string> }[] = []
  for (const seen of [inFirst.slice(1, 3), inFirst.slice(0, 1), []]) {
    const user = await createUser(app)
    const ids = seen.map(({ workspaceId }) => workspaceId)
    const workspaces = Object.fromEntries(ids.map((id) => [id, 'read' as const]))
    await createTeamWithAccess(app, { members: [user], organizationId, workspaces })
    members.push({ user, sees: new Set(ids) })
  }
  return members
}

/** Copies of a row with its phases, with the given columns replaced. */
async function insertCopies(app: TestApp, model: string, rows: readonly { id: string }[]) {
  const given = sql`jsonb_array_elements(${JSON.stringify(rows)}::jsonb) given (row)`
  await sql`insert into runs select (jsonb_populate_record(r, given.row)).* from runs r, ${given} where r.id = ${model}`.execute(
    app.db,
  )
  await insertRunKeys(app)
  await sql`insert into phases select (jsonb_populate_record(p, jsonb_build_object(
      'id', p.kind || '-' || (given.row ->> 'id'), 'run_id', given.row ->> 'id'))).*
    from phases p, ${given} where p.run_id = ${model}`.execute(app.db)
}
