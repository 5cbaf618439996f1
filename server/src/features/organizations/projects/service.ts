import type { CreateProject, UpdateProject } from '@groundstate/contract/projects'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type Facts, readFacts } from '../../../auth/facts.ts'
import { type ProjectPermission, refusal } from '../../../auth/permissions.ts'
import { isForeignKeyViolation, isUniqueViolation, transact } from '../../../db/db.ts'
import { conflict, forbidden, invalid, notFound } from '../../../errors.ts'
import { requireOrganization, requireOrganizationPool } from '../organizations/service.ts'
import { replaceTagBindings } from '../tags/bind.ts'
import * as store from './store.ts'
import { audited, recordAudit } from '../../../audit/record.ts'
import { type Page, type Paged, pageOffset } from '../../../db/page.ts'
import { checkDemands } from '../../../auth/demands.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'

type Found = NonNullable<Awaited<ReturnType<typeof store.findProject>>>

/** A project that the actor may see, with what it may do there. */
export type Project = Omit<Found, 'facts'> & { can: ReadonlySet<ProjectPermission>; facts: Facts }

/**
 * Loads the project and checks `permission` in one query. Throws `not-found` when the actor may not see it, `forbidden`
 * when it sees it but lacks the permission.
 */
export async function requireProject(ctx: Ctx, id: string, permission: ProjectPermission): Promise<Project> {
  const row = await store.findProject(ctx.db, ctx.actor, id)
  const project = row && readable(ctx, row)
  if (!project) throw notFound('project')
  checkDemands(project.facts)
  if (!project.can.has(permission)) {
    throw refusal(permission, `on the project ${project.name}`)
  }
  return project
}

/**
 * The project that a body names. What the actor may not see, or what belongs to another organization, is refused in the
 * words for one that does not exist. Throws `invalid` at `pointer`, `forbidden` without the permission.
 */
export async function requireProjectIn(
  ctx: Ctx,
  organizationId: string,
  reference: { id: string; permission: ProjectPermission; pointer: string },
): Promise<Project> {
  const project = readable(ctx, await store.findProject(ctx.db, ctx.actor, reference.id))
  if (!project || project.organization_id !== organizationId) {
    throw invalid(`there is no project ${reference.id} in the organization`, reference.pointer)
  }
  if (!project.can.has(reference.permission)) {
    throw forbidden(`this needs the permission ${reference.permission} on the project ${project.name}`)
  }
  return project
}

/** The organization's default project, to make a workspace in. That there is one is no secret: who may not gets a 403. */
export async function requireDefaultProject(ctx: Ctx, id: string | null): Promise<Project> {
  const project = id === null ? undefined : readable(ctx, await store.findProject(ctx.db, ctx.actor, id))
  if (project?.can.has('workspaces:create')) return project
  throw forbidden('this needs the permission workspaces:create in the default project, or the name of another project')
}

/** Those of the projects that the actor may see, for includes. */
export async function listReadableProjects(ctx: Ctx, ids: readonly string[]): Promise<Project[]> {
  if (ids.length === 0) return []
  const rows = await store.findProjects(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const project = readable(ctx, row)
    return project && !project.facts.demands ? project : []
  })
}

function readable(ctx: Ctx, row: Found | undefined): Project | undefined {
  if (!row) return undefined
  const { facts: column, ...project } = row
  const facts = readFacts(ctx.actor, { organizationId: row.organization_id, facts: column })
  const can = projectPermissions(facts)
  return can.has('project:read') ? { ...project, can, facts } : undefined
}

/** Every organization has one; workspaces are made in it unless another project is named. Returns its id. */
export async function insertDefaultProject(ctx: TransactionCtx, organizationId: string) {
  const now = ctx.now()
  const row = await store.insertProject(ctx.db, {
    id: ctx.newId('prj'),
    organization_id: organizationId,
    name: 'Default Project',
    created_at: now,
    updated_at: now,
  })
  return row.id
}

export type ListProjects = {
  page: Page
  names?: string[] | undefined
  q?: string | undefined
  /** Only projects in which the actor may do each of these. */
  permissions: readonly store.GrantedPermission[]
  descending: boolean
}

export async function listProjects(ctx: Ctx, organizationName: string, query: ListProjects): Promise<Paged<Project>> {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  const { role, access } = organization.facts
  const seesAll =
    role !== 'member' ||
    (['manage_projects', 'manage_workspaces', 'read_projects', 'read_workspaces'] as const).some((name) =>
      access.has(name),
    )
  // What holds for the whole organization needs no grant; without a user there are none.
  const everywhere = projectPermissions(organization.facts)
  const asked = query.permissions.filter((permission) => !everywhere.has(permission))
  const { actor } = ctx
  if (asked.length > 0 && actor.kind !== 'user') return { rows: [], total: 0 }
  const { rows, total } = await store.listProjects(
    ctx.db,
    ctx.actor,
    {
      organizationId: organization.id,
      userId: seesAll || ctx.actor.kind !== 'user' ? undefined : ctx.actor.userId,
      granted: actor.kind === 'user' ? asked.map((permission) => ({ userId: actor.userId, permission })) : [],
      names: query.names,
      q: query.q,
    },
    { limit: query.page.size, offset: pageOffset(query.page), descending: query.descending },
  )
  return { rows: rows.flatMap((row) => readable(ctx, row) ?? []), total }
}

export async function createProject(ctx: Ctx, organizationName: string, input: CreateProject): Promise<Project> {
  const organization = await requireOrganization(ctx, organizationName, 'projects:create')
  const settings = await readDefaults(ctx, organization.id, { mode: null, pool: null }, input)
  return transact(ctx, async (ctx) => {
    const now = ctx.now()
    const id = ctx.newId('prj')
    await unique(() =>
      store.insertProject(ctx.db, {
        id,
        organization_id: organization.id,
        name: input.attributes.name,
        description: input.attributes.description ?? null,
        auto_destroy_activity_duration: input.attributes['auto-destroy-activity-duration'] ?? null,
        ...settings,
        created_at: now,
        updated_at: now,
      }),
    )
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: organization.id, projectId: id }, tags)
    await recordAudit(ctx, {
      organizationId: organization.id,
      action: 'create',
      resource: { type: 'project', id },
      meta: { name: input.attributes.name },
    })
    return requireProject(ctx, id, 'project:read')
  })
}

export async function updateProject(ctx: Ctx, id: string, input: UpdateProject): Promise<Project> {
  const project = await requireProject(ctx, id, 'project:update')
  const { attributes } = input
  const current = { mode: project.default_execution_mode, pool: project.default_agent_pool_id }
  const settings = await readDefaults(ctx, project.organization_id, current, input)
  return transact(ctx, async (ctx) => {
    await unique(() =>
      store.updateProject(ctx.db, id, {
        name: attributes.name,
        description: attributes.description,
        auto_destroy_activity_duration: attributes['auto-destroy-activity-duration'],
        ...settings,
        updated_at: ctx.now(),
      }),
    )
    const tags = input.relationships['tag-bindings']?.data.map((tag) => tag.attributes)
    if (tags) await replaceTagBindings(ctx, { organizationId: project.organization_id, projectId: id }, tags)
    await recordAudit(ctx, {
      organizationId: project.organization_id,
      action: 'update',
      resource: { type: 'project', id },
      meta: { name: project.name, changes: { ...attributes, tags } },
    })
    return requireProject(ctx, id, 'project:read')
  })
}

/** Throws `forbidden` for the default project, `conflict` while workspaces are in the project. */
export async function deleteProject(ctx: Ctx, id: string) {
  const project = await requireProject(ctx, id, 'project:delete')
  if (project.id === project.default_project_id) {
    throw forbidden(`${project.name} is the organization's default project, which can't be deleted`)
  }
  const refuse = (count: string) =>
    conflict(`the project ${project.name} has ${count}: move or delete them before you delete the project`)
  if (project.workspace_count > 0) {
    throw refuse(project.workspace_count === 1 ? '1 workspace' : `${project.workspace_count} workspaces`)
  }
  const event = {
    organizationId: project.organization_id,
    action: 'destroy',
    resource: { type: 'project', id },
    meta: { name: project.name },
  }
  try {
    await audited(ctx, event, (ctx) => store.deleteProject(ctx.db, id))
  } catch (error) {
    if (isForeignKeyViolation(error)) throw refuse('workspaces')
    throw error
  }
}

type Defaults = { mode: Found['default_execution_mode']; pool: string | null }

/** The execution defaults of a project after `input`; null follows the organization's. */
async function readDefaults(ctx: Ctx, organizationId: string, current: Defaults, input: UpdateProject) {
  const { attributes, relationships } = input
  const overwrites = attributes['setting-overwrites']
  const asked = attributes['default-execution-mode']
  const mode = overwrites?.['default-execution-mode'] === false ? null : asked === undefined ? current.mode : asked
  const named = attributes['default-agent-pool-id'] ?? relationships['default-agent-pool']?.data?.id
  if (named && mode !== 'agent') {
    throw invalid(
      "default-agent-pool-id must not be specified unless using 'agent' execution mode",
      '/data/attributes/default-agent-pool-id',
    )
  }
  const pool = mode === 'agent' ? (named ?? current.pool) : null
  if (mode === 'agent' && !pool) {
    throw invalid(
      "default-agent-pool-id must be specified when using 'agent' execution mode",
      '/data/attributes/default-agent-pool-id',
    )
  }
  if (pool && pool !== current.pool) {
    await requireOrganizationPool(ctx, organizationId, pool, '/data/attributes/default-agent-pool-id')
  }
  return { default_execution_mode: mode, default_agent_pool_id: pool }
}

async function unique<T>(work: () => Promise<T>) {
  try {
    return await work()
  } catch (error) {
    if (isUniqueViolation(error, 'projects_name_key')) {
      throw invalid('Name has already been taken', '/data/attributes/name')
    }
    throw error
  }
}
