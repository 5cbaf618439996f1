import { reaction } from '../../../events/reaction.ts'
import { workspaceCreating } from '../../workspaces/workspaces/events.ts'
import { checkNewWorkspaceQuota } from './check-quota.ts'

export const taskReactions = [
  reaction(workspaceCreating, async (ctx, { organization }) => checkNewWorkspaceQuota(ctx, organization)),
]
