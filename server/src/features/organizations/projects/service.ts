import type { CreateProject, UpdateProject } from '@groundstate/contract/projects'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { type Page, isForeignKeyViolation, rejectTakenName, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import {
  checkOverwrites,
  requestedPool,
  requireOrganization,
  requireOrganizationPool,
} from '../organizations/access.ts'
import { listTeamsOfProject, updateOrganization } from '../organizations/store.ts'
import { type TagChange, changeTagBindings, replaceTagBindings } from '../tags/service.ts'
import * as tagStore from '../tags/store.ts'
import {
  type FoundProject,
  type Project,
  listReadableProjects,
  projectAudit,
  readableProject,
  requireProject,
} from './access.ts'
import type { CountedProject } from './resource.ts'
import * as store from './store.ts'

/** Creates the default project of an organization, for workspaces created without a project. */
export async function insertDefaultProject(ctx: TransactionCtx, organizationId: string) {
  const now = ctx.now()
  const id = ctx.newId('prj')
  await store.insertProject(ctx.db, {
    id,
    organization_id: organizationId,
    name: 'Default Project',
    created_at: now,
    updated_at: now,
  })
  await updateOrganization(ctx.db, organizationId, { default_project_id: id })
}

const UNIQUE_NAME = { constraint: 'projects_name_key' }

export async function createProject(ctx: Ctx, organizationName: string, input: CreateProject): Promise<CountedProject> {
  const organization = await requireOrganization(ctx, organizationName, 'projects:create')
  const settings = await readDefaults(ctx, organization.id, { mode: null, pool: null }, input)
  return transact(ctx, async (ctx) => {
    const { name, description, 'auto-destroy-activity-duration': autoDestroy } = input.attributes
    const now = ctx.now()
    const id = ctx.newId('prj')
    await rejectTakenName(UNIQUE_NAME, async () =>
      store.insertProject(ctx.db, {
        id,
        organization_id: organization.id,
        name,
        description: description ?? null,
        auto_destroy_activity_duration: autoDestroy ?? null,
        ...settings,
        created_at: now,
        updated_at: now,
      }),
    )
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: organization.id, projectId: id }, tags)
    const changes = { ...input.attributes, tags }
    const project = { id, name, organization_id: organization.id }
    await recordAudit(ctx, projectAudit(project, 'create', { teams: [], changes }))
    return showProject(ctx, id)
  })
}

export async function showProject(ctx: Ctx, id: string): Promise<CountedProject> {
  const [project] = await withCounts(ctx, [await requireProject(ctx, id, 'project:read')])
  if (!project) throw notFound('project')
  return project
}

export async function showProjects(ctx: Ctx, ids: readonly string[]): Promise<CountedProject[]> {
  return withCounts(ctx, await listReadableProjects(ctx, ids))
}

/** Adds the counts; omits projects that have since been deleted. */
async function withCounts(ctx: Ctx, projects: readonly Project[]): Promise<CountedProject[]> {
  if (projects.length === 0) return []
  const ids = projects.map(({ id }) => id)
  const counts = new Map((await store.countInProjects(ctx.db, ids)).map((row) => [row.id, row]))
  return projects.flatMap((project) => {
    const row = counts.get(project.id)
    return row ? { ...project, ...row } : []
  })
}

type ListProjects = Pick<store.ProjectFilter, 'names' | 'q'> & {
  page: Page
  /** Only projects in which the actor has all of these. */
  permissions: readonly store.GrantedPermission[]
  descending: boolean
}

export async function listProjects(ctx: Ctx, name: string, { permissions, ...query }: ListProjects) {
  const { id: organizationId, access } = await requireOrganization(ctx, name, 'organization:read')
  const { actor } = ctx
  const seesAll =
    access.role !== 'member' ||
    (['manage_projects', 'manage_workspaces', 'read_projects', 'read_workspaces'] as const).some((name) =>
      access.organizationAccess.has(name),
    )
  // A permission on the whole organization needs no grant. Only users have grants.
  const everywhere = projectPermissions(access)
  const required = permissions.filter((permission) => !everywhere.has(permission))
  if (required.length > 0 && actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listProjects(ctx.db, actor, {
    ...query,
    organizationId,
    userId: seesAll || actor.kind !== 'user' ? undefined : actor.userId,
    granted: actor.kind === 'user' ? required.map((permission) => ({ userId: actor.userId, permission })) : [],
  })
  const projects = rows.flatMap((row) => readableProject(ctx, row) ?? [])
  return { rows: await withCounts(ctx, projects), total }
}

type Defaults = { mode: FoundProject['default_execution_mode']; pool: string | null }

/** The execution defaults of a project after `input`; null means those of the organization. */
async function readDefaults(ctx: Ctx, organizationId: string, current: Defaults, input: UpdateProject) {
  const { attributes } = input
  const overwrites = attributes['setting-overwrites']
  checkOverwrites(overwrites?.['default-agent-pool'], overwrites?.['default-execution-mode'])
  const requested = attributes['default-execution-mode']
  const mode =
    overwrites?.['default-execution-mode'] === false ? null : requested === undefined ? current.mode : requested
  const { poolId: named, pointer } = requestedPool(input, 'default-agent-pool')
  if (named && mode !== 'agent')
    throw invalid("Agent pool must not be specified unless using 'agent' execution mode", pointer)
  const pool = mode !== 'agent' ? null : named === undefined ? current.pool : named
  if (mode === 'agent' && !pool)
    throw invalid("Default agent pool must be specified when using 'agent' execution mode", pointer)
  if (pool && pool !== current.pool) await requireOrganizationPool(ctx, organizationId, pool, pointer)
  return { default_execution_mode: mode, default_agent_pool_id: pool }
}

export async function updateProject(ctx: Ctx, id: string, input: UpdateProject): Promise<CountedProject> {
  const project = await requireProject(ctx, id, 'project:update')
  const { attributes } = input
  const current = { mode: project.default_execution_mode, pool: project.default_agent_pool_id }
  const defaults = await readDefaults(ctx, project.organization_id, current, input)
  return transact(ctx, async (ctx) => {
    const columns = {
      name: attributes.name,
      description: attributes.description,
      auto_destroy_activity_duration: attributes['auto-destroy-activity-duration'],
      ...defaults,
      updated_at: ctx.now(),
    }
    await rejectTakenName(UNIQUE_NAME, async () => store.updateProject(ctx.db, id, columns))
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: project.organization_id, projectId: id }, tags)
    const teams = await listTeamsOfProject(ctx.db, id)
    const event = projectAudit(project, 'update', { teams, changes: { ...attributes, tags } })
    await recordAudit(ctx, { ...event, settings: { before: project, columns } })
    return showProject(ctx, id)
  })
}

/** Throws `forbidden` for the default project, `conflict` for a project with workspaces. */
export async function deleteProject(ctx: Ctx, id: string) {
  const project = await requireProject(ctx, id, 'project:delete')
  if (project.id === project.default_project_id)
    throw forbidden(`${project.name} is the organization's default project, which can't be deleted`)
  const refuse = (count: string) =>
    conflict(`the project ${project.name} has ${count}: move or delete them before you delete the project`)
  const [counts] = await store.countInProjects(ctx.db, [id])
  if (counts && counts.workspace_count > 0)
    throw refuse(counts.workspace_count === 1 ? '1 workspace' : `${counts.workspace_count} workspaces`)
  try {
    await transact(ctx, async (ctx) => {
      const teams = await listTeamsOfProject(ctx.db, id)
      await store.deleteProject(ctx.db, id)
      await recordAudit(ctx, projectAudit(project, 'destroy', { teams }))
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw refuse('workspaces')
    throw error
  }
}

export async function listProjectTagBindings(ctx: Ctx, projectId: string) {
  const project = await requireProject(ctx, projectId, 'project:read')
  return tagStore.listTagBindings(ctx.db, { organizationId: project.organization_id, projectId })
}

export async function listProjectEffectiveTagBindings(ctx: Ctx, projectId: string) {
  await requireProject(ctx, projectId, 'project:read')
  return tagStore.listProjectsTagBindings(ctx.db, [projectId])
}

/** The tags of projects as effective ones, by project id. The caller is authorised. */
export async function listEffectiveProjectTagBindings(ctx: Ctx, projectIds: readonly string[]) {
  const bindings = await tagStore.listProjectsTagBindings(ctx.db, projectIds)
  return Map.groupBy(bindings, (binding) => binding.for_id)
}

export async function changeProjectTagBindings(ctx: Ctx, projectId: string, change: TagChange) {
  const project = await requireProject(ctx, projectId, 'tags:manage')
  const target = { organizationId: project.organization_id, projectId, name: project.name }
  return changeTagBindings(ctx, target, change)
}
