import type { Ctx } from '../../../app.ts'
import type { AuditEvent } from '../../../audit/record.ts'
import { type AccessContext, readAccessContext } from '../../../auth/access-context.ts'
import { type ProjectPermission, refusal } from '../../../auth/permissions.ts'
import { projectPermissions } from '../../../auth/project-permissions.ts'
import { checkSignInPolicy } from '../../../auth/sign-in-policy.ts'
import { forbidden, invalid, notFound } from '../../../errors.ts'
import * as store from './store.ts'

/** Throws `not-found` when the actor may not see the project, `forbidden` without the permission. */
export async function requireProject(ctx: Ctx, id: string, permission: ProjectPermission): Promise<Project> {
  const project = readableProject(ctx, await store.findProject(ctx.db, ctx.actor, id))
  if (!project) throw notFound('project')
  checkSignInPolicy(project.access)
  if (!project.can.has(permission)) throw refusal(permission, `on the project ${project.name}`)
  return project
}

type ProjectReference = { id: string; permission: ProjectPermission; pointer: string }

/** The project in a body. Throws `invalid` at `pointer` unless it is visible in the organization, `forbidden` without the permission. */
export async function requireProjectIn(
  ctx: Ctx,
  organizationId: string,
  reference: ProjectReference,
): Promise<Project> {
  const project = readableProject(ctx, await store.findProject(ctx.db, ctx.actor, reference.id))
  if (project?.organization_id !== organizationId)
    throw invalid(`there is no project ${reference.id} in the organization`, reference.pointer)
  if (!project.can.has(reference.permission))
    throw forbidden(`this needs the permission ${reference.permission} on the project ${project.name}`)
  return project
}

/** The default project, to create a workspace in. Its existence is no secret: a missing permission is a 403. */
export async function requireDefaultProject(ctx: Ctx, id: string | null): Promise<Project> {
  const project = id === null ? undefined : readableProject(ctx, await store.findProject(ctx.db, ctx.actor, id))
  if (project?.can.has('workspaces:create')) return project
  if (ctx.actor.kind === 'run') {
    throw forbidden(
      'a run cannot create workspaces. An existing workspace must share its state with this one: ' +
        'set global-remote-state there, or add this one to its remote-state-consumers',
    )
  }
  throw forbidden('this needs the permission workspaces:create in the default project, or the name of another project')
}

/** The projects that the actor may see with its current sign-in, for includes. */
export async function listReadableProjects(ctx: Ctx, ids: readonly string[]): Promise<Project[]> {
  if (ids.length === 0) return []
  const rows = await store.findProjects(ctx.db, ctx.actor, ids)
  const projects = rows.flatMap((row) => readableProject(ctx, row) ?? [])
  return projects.filter(({ access }) => !access.signInRequirement)
}

export function readableProject(ctx: Ctx, row: FoundProject | undefined): Project | undefined {
  if (!row) return undefined
  const { access: column, ...project } = row
  const access = readAccessContext(ctx.actor, { organizationId: row.organization_id, access: column })
  const can = projectPermissions(access)
  return can.has('project:read') ? { ...project, can, access } : undefined
}

export type FoundProject = NonNullable<Awaited<ReturnType<typeof store.findProject>>>

/** A project that the actor may see, with the actor's permissions. */
export type Project = Omit<FoundProject, 'access'> & { can: ReadonlySet<ProjectPermission>; access: AccessContext }

type AuditedProject = { id: string; name: string; organization_id: string }

/** `teams` are those with access to the project, which see the change. */
type ProjectChange = { teams: readonly string[]; changes?: object }

export function projectAudit(project: AuditedProject, action: string, { teams, changes }: ProjectChange): AuditEvent {
  const { id, name, organization_id: organizationId } = project
  return {
    organizationId,
    action,
    resource: { type: 'project', id },
    meta: changes === undefined ? { name } : { name, changes },
    notices: [{ type: 'projects', id, teams }],
  }
}
