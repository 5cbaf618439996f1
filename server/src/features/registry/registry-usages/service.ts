import { conflict } from '../../../errors.ts'
import { reaction } from '../../../handlers.ts'
import { planInstalled } from '../../runs/agent-jobs/finish.ts'
import * as store from './store.ts'

/** The latest plan of a workspace that may be applied defines what it uses. */
export const usageReactions = [
  reaction(planInstalled, async (ctx, { run, installed }) => {
    const workspace = { id: run.workspace_id, organizationId: run.organization_id }
    await store.replaceUses(ctx.db, workspace, { installed, now: ctx.now() })
  }),
]

const NAMED_WORKSPACES = 5

type Used = { what: string; version?: string | undefined }

/** Throws `conflict` if a module or provider, or one version of it, is in use; names workspaces that the caller may see, and counts the others. */
export function checkUnused(uses: readonly store.Use[], { what, version }: Used) {
  const relevant = uses.filter((use) => version === undefined || use.version === version)
  const workspaces = new Map(relevant.map((use) => [use.workspace_id, use.workspace_name]))
  if (workspaces.size === 0) return
  const names = [...workspaces.values()].filter((name) => name !== null).slice(0, NAMED_WORKSPACES)
  const others = workspaces.size - names.length
  const users = [...names, ...(others > 0 ? [`${others} ${names.length > 0 ? 'more' : 'that you may not see'}`] : [])]
  throw conflict(
    `${version === undefined ? '' : `version ${version} of `}${what} is used by workspaces: ${users.join(', ')}; add ?force=true to delete it anyway`,
  )
}
