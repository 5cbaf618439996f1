import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type AccessContext, readAccessContext } from '../../../auth/access-context.ts'
import { type ProjectPermission, refusal } from '../../../auth/permissions.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { refuseTakenName } from '../../../db/db.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'

/**
 * Loads the project and checks `permission` in one query. Throws `not-found` when the actor may not see it, `forbidden`
 * when it sees it but lacks the permission.
 */
export async function requireProject(ctx: Ctx, id: string, permission: ProjectPermission): Promise<Project> {
  const row = await store.findProject(ctx.db, ctx.actor, id)
  const project = row && readableProject(ctx, row)
  if (!project) throw notFound('project')
  checkSignInPolicy(project.access)
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
  const project = readableProject(ctx, await store.findProject(ctx.db, ctx.actor, reference.id))
  if (!project || project.organization_id !== organizationId) {
    throw invalid(`there is no project ${reference.id} in the organization`, reference.pointer)
  }
  if (!project.can.has(reference.permission)) {
    throw forbidden(`this needs the permission ${reference.permission} on the project ${project.name}`)
  }
  return project
}

/** The organization's default project, to create a workspace in. Its existence is no secret: missing permission is a 403. */
export async function requireDefaultProject(ctx: Ctx, id: string | null): Promise<Project> {
  const project = id === null ? undefined : readableProject(ctx, await store.findProject(ctx.db, ctx.actor, id))
  if (project?.can.has('workspaces:create')) return project
  if (ctx.actor.kind === 'run') {
    throw forbidden(
      'a run makes no workspaces. If it means one that exists, that workspace does not share its state with this one: ' +
        'set global-remote-state there, or name this one among its remote-state-consumers',
    )
  }
  throw forbidden('this needs the permission workspaces:create in the default project, or the name of another project')
}

/** Those of the projects that the actor may see, for includes. */
export async function listReadableProjects(ctx: Ctx, ids: readonly string[]): Promise<Project[]> {
  if (ids.length === 0) return []
  const rows = await store.findProjects(ctx.db, ctx.actor, ids)
  return rows.flatMap((row) => {
    const project = readableProject(ctx, row)
    return project && !project.access.signInRequirement ? project : []
  })
}

export function readableProject(ctx: Ctx, row: FoundProject | undefined): Project | undefined {
  if (!row) return undefined
  const { access: column, ...project } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: column })
  const can = projectPermissions(access)
  return can.has('project:read') ? { ...project, can, access } : undefined
}

export type FoundProject = NonNullable<Awaited<ReturnType<typeof store.findProject>>>

/** A project that the actor may see, with what it may do there. */
export type Project = Omit<FoundProject, 'access'> & { can: ReadonlySet<ProjectPermission>; access: AccessContext }

/** A project as a response shows it. */
export type CountedProject = Project & { workspace_count: number; team_count: number }

type Audited = { id: string; name: string; organization_id: string }

/** `teams` are those with access to the project: they see it change. */
export function projectAudit(
  { id, name, organization_id: organizationId }: Audited,
  action: string,
  { teams, changes }: { teams: readonly string[]; changes?: object },
): AuditEvent {
  return {
    organizationId,
    action,
    resource: { type: 'project', id },
    meta: changes === undefined ? { name } : { name, changes },
    notices: [{ type: 'projects', id, teams }],
  }
}

export async function refuseTakenProjectName<T>(work: () => Promise<T>) {
  return refuseTakenName({ constraint: 'projects_name_key' }, work)
}
