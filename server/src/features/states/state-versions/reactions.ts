import { reaction } from '../../../events/reaction.ts'
import { workspaceUnlocked } from '../../workspaces/workspaces/events.ts'
import { promoteIntermediate } from './service.ts'

export const stateVersionReactions = [reaction(workspaceUnlocked, promoteIntermediate)]
