import type { SubscribableType } from '@groundstate/contract/notification-configurations'
import type { Ctx } from '../../../app.ts'
import { AppError, notFound } from '../../../errors.ts'
import { requireProject } from '../../organizations/projects/access.ts'
import { requireTeam } from '../../organizations/teams/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import * as store from './store.ts'

export type SubscribableKey = { type: SubscribableType; id: string }

/** A workspace, project or team that the actor may see, `place` in messages, and whether the actor may manage the notifications there. */
export type Subscribable = SubscribableKey & { organization_id: string; place: string; canManage: boolean }

type Level = 'read' | 'manage'

/** Throws `not-found` if the actor may not see it, `forbidden` if it may not manage its notifications. */
export async function requireSubscribable(
  ctx: Ctx,
  { type, id }: SubscribableKey,
  level: Level,
): Promise<Subscribable> {
  const isRead = level === 'read'
  if (type === 'workspaces') {
    const workspace = await requireWorkspace(ctx, id, isRead ? 'workspace:read' : 'workspace:update')
    const { organization_id, organization_name, name, can } = workspace
    return { type, id, organization_id, place: `${organization_name}/${name}`, canManage: can.has('workspace:update') }
  }
  if (type === 'projects') {
    const { organization_id, name, can } = await requireProject(ctx, id, isRead ? 'project:read' : 'project:update')
    return { type, id, organization_id, place: `the project ${name}`, canManage: can.has('project:update') }
  }
  const { organization_id, name, can } = await requireTeam(ctx, id, isRead ? 'team:read' : 'team:update')
  return { type, id, organization_id, place: `the team ${name}`, canManage: can.has('team:update') }
}

/** A configuration, with its subscribable. */
export type Configuration = store.FoundConfiguration & { subscribable: Subscribable }

/**
 * Throws as `requireSubscribable` does, about the configuration, or the `noun` that belongs to it. One that is left of a deleted workspace is not
 * found.
 */
export async function requireConfiguration(
  ctx: Ctx,
  id: string,
  level: Level,
  noun = 'notification configuration',
): Promise<Configuration> {
  const row = await store.findConfiguration(ctx.db, id)
  const key = row && subscribableOf(row)
  if (!key) throw notFound(noun)
  try {
    return { ...row, subscribable: await requireSubscribable(ctx, key, level) }
  } catch (error) {
    // The error about the workspace would reveal that the configuration exists.
    throw error instanceof AppError && error.kind === 'not-found' ? notFound(noun) : error
  }
}

export function subscribableOf(
  row: Pick<store.ConfigurationRow, 'workspace_id' | 'project_id' | 'team_id'>,
): SubscribableKey | undefined {
  if (row.workspace_id !== null) return { type: 'workspaces', id: row.workspace_id }
  if (row.project_id !== null) return { type: 'projects', id: row.project_id }
  return row.team_id === null ? undefined : { type: 'teams', id: row.team_id }
}
