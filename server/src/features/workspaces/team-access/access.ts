import type { Ctx } from '../../../app.ts'
import { AppError, notFound } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { requireWorkspace } from '../workspaces/access.ts'
import * as store from './store.ts'

/** The workspace or project whose grants the caller reads or manages. Throws like `requireWorkspace`. */
export async function requireGrantSubject(
  ctx: Ctx,
  { noun }: store.GrantKind,
  { id, permission }: { id: string; permission: 'read' | 'team-access:manage' },
): Promise<store.GrantSubject> {
  if (noun === 'workspace') {
    const workspace = await requireWorkspace(ctx, id, permission === 'read' ? 'workspace:read' : permission)
    const path = `/organizations/${workspace.organization_name}/workspaces/${workspace.name}`
    const seesAllGrants = workspace.can.has('team-access:read')
    return { id, organizationId: workspace.organization_id, path, seesAllGrants, access: workspace.access }
  }
  const project = await requireProject(ctx, id, permission === 'read' ? 'project:read' : permission)
  const seesAllGrants = project.can.has('team-access:read')
  const { organization_id: organizationId, access } = project
  return { id, organizationId, path: `/projects/${id}`, seesAllGrants, access }
}

/** Throws `not-found` for a grant that the actor may not see, `forbidden` when it sees it but may not change it. */
export async function requireGrant(
  ctx: Ctx,
  kind: store.GrantKind,
  { id, permission }: { id: string; permission: 'team-access:read' | 'team-access:manage' },
): Promise<store.Grant> {
  const row = await store.findGrant(ctx.db, kind, id)
  if (!row) throw notFound('team access')
  const reading = requireGrantSubject(ctx, kind, { id: row.subject_id, permission: 'read' })
  const subject = await reading.catch((error: unknown) => {
    throw error instanceof AppError && error.kind === 'not-found' ? notFound('team access') : error
  })
  if (!subject.seesAllGrants) {
    const { actor } = ctx
    const isOwn = actor.kind === 'user' && (await store.isTeamMember(ctx.db, row.team_id, actor.userId))
    if (!isOwn) throw notFound('team access')
  }
  if (permission === 'team-access:manage') await requireGrantSubject(ctx, kind, { id: row.subject_id, permission })
  return { ...row, subject }
}
