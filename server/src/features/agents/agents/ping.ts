import { storeInWindows } from '../../../db/window.ts'
import { touchAgents } from './store.ts'

/** Stores a sign of life of an agent. */
export const noteAgentPing = storeInWindows(touchAgents, 'the signs of life of agents')
