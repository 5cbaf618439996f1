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
