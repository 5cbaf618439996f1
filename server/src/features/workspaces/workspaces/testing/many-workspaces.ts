import { RUN_GROUP_NAMES, type RunStatus } from '@groundstate/contract/run-status'
import { sql } from 'kysely'
import { createTeamWithAccess } from '../../../../testing/access.ts'
import type { TestApp } from '../../../../testing/app.ts'
import {
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
  type TestUser,
} from '../../../../testing/factories.ts'
import type { Random } from '../../../../testing/random.ts'
import { createRun, createRunSetting } from '../../../../testing/runs.ts'
import { insertRunKeys } from '../../../runs/runs/testing/run-keys.ts'
import { currentRunColumns } from '../../../runs/runs/transition.ts'

type Tags = Readonly<Record<string, string>>

/** Properties that filters and sort orders of workspaces use. */
export type KnownWorkspace = {
  id: string
  organization: string
  name: string
  projectId: string
  tags: Tags
  projectTags: Tags
  /** Status of the current run; undefined without one. */
  status: string | undefined
  runCreatedAt: Date | undefined
  latestChangeAt: Date
  engineVersion: string
  locked: boolean
  drifted: boolean
}

const COUNT = 90
const HOUR = 3_600_000
const DAY = 24 * HOUR
const NAMES = ['api', 'Web', 'db_prod', 'odd-quay', 'x'] as const
const KEYS = ['env', 'team', 'tier', 'Retired'] as const
const VALUES = ['', 'prod', 'test', 'Gold'] as const
const STATUSES = [
  'applied',
  'errored',
  undefined,
  'planned',
  'planned_and_finished',
  'planning',
  'discarded',
  'pending',
] as const
const VERSIONS = ['latest', '1.5.0', '~> 1.5'] as const

/** Workspaces with random attributes in two organizations, so that filters could leak from one to the other. */
export async function createManyWorkspaces(app: TestApp, random: Random) {
  const owner = await createUser(app)
  const organizations = [await createOrganization(app, owner), await createOrganization(app, owner)] as const
  const model = await createRun(app, await createRunSetting(app))
  const workspaces: KnownWorkspace[] = []
  for (const { name: organization, default_project_id } of organizations) {
    const projects = [{ id: default_project_id ?? '', tags: {} as Tags }]
    for (const tags of [{ env: 'prod', owner: 'ann' }, { team: '' }] as Tags[]) {
      const { id } = await createProject(app, { organization, actor: owner.actor })
      projects.push({ id, tags })
      await bind(app, owner, { path: `projects/${id}`, tags })
    }
    for (let index = 0; index < (organization === organizations[0].name ? COUNT : COUNT / 6); index += 1) {
      const project = random.pickSkewed(projects as [(typeof projects)[0], ...typeof projects])
      workspaces.push(await createOne(app, random, { organization, owner, project, index, model }))
    }
  }
  const known = workspaces.filter(({ organization }) => organization === organizations[0].name)
  return { owner, organization: organizations[0], workspaces: known, viewers: await createViewers(app, random, known) }
}

type Place = {
  organization: string
  owner: TestUser
  project: { id: string; tags: Tags }
  index: number
  model: string
}

async function createOne(app: TestApp, random: Random, { organization, owner, project, index, model }: Place) {
  const name = `${random.pickSkewed(NAMES)}-${random.below(1000)}-${index}`
  const engineVersion = random.pickSkewed(VERSIONS)
  const attributes = { 'engine-version': engineVersion }
  const input = { organization, actor: owner.actor, name, projectId: project.id, attributes }
  const { id } = await createWorkspace(app, input)
  const bound = KEYS.filter(() => random.oneIn(4)).map((key) => [key, random.pickSkewed(VALUES)] as const)
  const tags = Object.fromEntries(bound)
  if (bound.length > 0) await bind(app, owner, { path: `workspaces/${id}`, tags })
  const status = random.pickSkewed(STATUSES)
  // Several at the same time.
  const now = Math.floor(app.clock.now().getTime() / DAY) * DAY
  const latestChangeAt = new Date(now - random.below(30) * HOUR)
  const runCreatedAt = status && new Date(now - random.below(30) * HOUR)
  const [locked, drifted] = [random.oneIn(8), random.oneIn(8)]
  if (status && runCreatedAt) await giveRun(app, { id, model, status, runCreatedAt })
  await app.db
    .updateTable('workspaces')
    .set({ latest_change_at: latestChangeAt, has_drift: drifted || (random.oneIn(2) ? false : null) })
    .where('id', '=', id)
    .execute()
  if (locked) await app.request({ method: 'POST', url: `/api/v2/workspaces/${id}/actions/lock`, token: owner.token })
  const known = { id, organization, name, projectId: project.id, tags, projectTags: project.tags }
  return { ...known, status, runCreatedAt, latestChangeAt, engineVersion, locked, drifted }
}

/** Gives the workspace a current run. */
async function giveRun(
  app: TestApp,
  { id, model, status, runCreatedAt }: { id: string; model: string; status: RunStatus; runCreatedAt: Date },
) {
  const row = {
    id: `run-of-${id}`,
    workspace_id: id,
    status,
    created_at: runCreatedAt,
    occupies: false,
    waits: false,
  }
  await sql`insert into runs select (jsonb_populate_record(r, ${JSON.stringify(row)}::jsonb
      || jsonb_build_object('seq', nextval('run_order'), 'organization_id', w.organization_id))).*
    from runs r, workspaces w where r.id = ${model} and w.id = ${id}`.execute(app.db)
  await insertRunKeys(app)
  await app.db.updateTable('workspaces').set(currentRunColumns(row)).where('id', '=', id).execute()
}

async function bind(app: TestApp, { token }: TestUser, { path, tags }: { path: string; tags: Tags }) {
  const data = Object.entries(tags).map(([key, value]) => ({ type: 'tag-bindings', attributes: { key, value } }))
  const url = `/api/v2/${path}/tag-bindings`
  const response = await app.request({ method: 'PATCH', url, token, body: { data } })
  if (response.status !== 200) throw new Error(response.text)
}

/** Members who see few workspaces, many, those of a project, and none. */
async function createViewers(app: TestApp, random: Random, workspaces: readonly KnownWorkspace[]) {
  const [first] = workspaces
  const { id: organizationId } = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', first?.organization ?? '')
    .executeTakeFirstOrThrow()
  const shares = [() => random.oneIn(15), () => !random.oneIn(6), () => false, () => random.oneIn(3)]
  const projectId = workspaces.find(({ projectTags }) => 'env' in projectTags)?.projectId ?? ''
  const viewers: { user: TestUser; sees: ReadonlySet<string> }[] = []
  for (const [index, isSeen] of shares.entries()) {
    const user = await createUser(app)
    const seen = workspaces.filter(isSeen).map(({ id }) => id)
    const inProject = index === 3 ? workspaces.filter((workspace) => workspace.projectId === projectId) : []
    await createTeamWithAccess(app, {
      members: [user],
      organizationId,
      workspaces: Object.fromEntries(seen.map((id) => [id, 'read' as const])),
      projects: index === 3 ? { [projectId]: 'read' } : {},
    })
    viewers.push({ user, sees: new Set([...seen, ...inProject.map(({ id }) => id)]) })
  }
  return viewers
}

export const GROUPS = [...RUN_GROUP_NAMES, 'none'] as const
